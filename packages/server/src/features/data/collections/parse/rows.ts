import type { RowsQuery } from '../plan/rows.ts'
import { parseFilter } from './filter.ts'
import type { Parameters } from './parameters.ts'

/** Parameters that say which rows are read: of every endpoint that reads more than one record. */
export const rowsParameters = ['filter']

/** @throws AppError naming the parameter and what was expected */
export function readRowsQuery({ filter }: Parameters): RowsQuery {
  return { filter: filter === undefined || filter.trim() === '' ? undefined : parseFilter(filter) }
}
