import { collectionErrors } from '../errors.ts'
import { type Cursor, parseCursor } from './cursor.ts'
import { parseOrder, type SortTerm } from './list-query.ts'
import { parseNames } from './names.ts'
import { type Parameters, parseInteger, readParameters } from './parameters.ts'
import { type RowsQuery, readRowsQuery, rowsParameters } from './rows.ts'

/** Position of a page in the order of the rows. */
export type Position =
  | { readonly kind: 'start' }
  | { readonly kind: 'after' | 'before'; readonly cursor: Cursor }
  /** Position of the first row whose first sort key is not before this value. */
  | { readonly kind: 'from'; readonly value: string }
  /** Position of the single row with this id. */
  | { readonly kind: 'row'; readonly id: string }

export interface BrowseQuery extends RowsQuery {
  /** Columns to return; undefined for every column. */
  readonly columns: readonly string[] | undefined
  readonly sort: readonly SortTerm[]
  readonly limit: number
  readonly position: Position
  /** Maximum planner cost. A more expensive plan is rejected. Undefined: no limit. */
  readonly maxCost: number | undefined
  /** User as whom the rows are read. Undefined: all rows are read. */
  readonly as: string | undefined
  /** Reason of the view, for the audit log. */
  readonly reason: string | undefined
}

export interface CountQuery extends RowsQuery {
  /** Number of rows after which counting stops; undefined for no limit. */
  readonly most: number | undefined
  readonly as: string | undefined
  readonly reason: string | undefined
}

const defaultLimit = 100
const maxLimit = 500
const positionParameters = ['after', 'before', 'from', 'id']
const browseParameters = [
  ...rowsParameters,
  ...positionParameters,
  'columns',
  'sort',
  'limit',
  'maxCost',
  'as',
  'reason',
]

/** @throws AppError naming the parameter and what was expected */
export function parseBrowseQuery(queryString: string): BrowseQuery {
  const parameters = readParameters(queryString, browseParameters)
  const { sort, distance } = parseOrder(parameters.sort)
  if (distance !== undefined) throw collectionErrors.invalidParameter('sort: expected columns')
  const columns = parseNames(parameters.columns ?? '', 'columns')
  return {
    ...readRowsQuery(parameters),
    columns: columns.length === 0 ? undefined : columns,
    sort,
    limit: Math.min(maxLimit, Math.max(1, readNumber('limit', parameters) ?? defaultLimit)),
    position: parsePosition(parameters),
    maxCost: readNumber('maxCost', parameters),
    as: readUser(parameters),
    reason: parameters.reason,
  }
}

/** @throws AppError naming the parameter and what was expected */
export function parseCountQuery(queryString: string): CountQuery {
  const parameters = readParameters(queryString, [...rowsParameters, 'most', 'as', 'reason'])
  return {
    ...readRowsQuery(parameters),
    most: readNumber('most', parameters),
    as: readUser(parameters),
    reason: parameters.reason,
  }
}

/** Parses the id and column of a cell that is read in full. */
export function parseCellQuery(queryString: string): { readonly id: string; readonly column: string } {
  const { id = '', column = '' } = readParameters(queryString, ['id', 'column'])
  if (id === '') throw collectionErrors.invalidParameter('id: expected the id of a row')
  if (column === '') throw collectionErrors.invalidParameter('column: expected the name of a column')
  return { id, column }
}

function parsePosition(parameters: Parameters): Position {
  const given = positionParameters.filter((name) => parameters[name] !== undefined)
  if (given.length > 1) {
    throw collectionErrors.invalidParameter(`${given.join(' and ')} parameters are mutually exclusive`)
  }
  const { after = '', before = '', from, id } = parameters
  if (from !== undefined) return { kind: 'from', value: from }
  if (id !== undefined) return { kind: 'row', id }
  const cursor = parseCursor(after === '' ? before : after)
  if (cursor === undefined) return { kind: 'start' }
  return { kind: after === '' ? 'before' : 'after', cursor }
}

function readNumber(name: string, { [name]: text }: Parameters): number | undefined {
  if (text === undefined) return undefined
  const value = parseInteger(name, text)
  if (value < 0 || !Number.isSafeInteger(value)) {
    throw collectionErrors.invalidParameter(`${name}: expected a number from 0`)
  }
  return value
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function readUser({ as }: Parameters): string | undefined {
  if (as !== undefined && !uuid.test(as))
    throw collectionErrors.invalidParameter('as: expected the id of a user')
  return as?.toLowerCase()
}
