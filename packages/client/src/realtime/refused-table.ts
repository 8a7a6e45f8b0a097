import { isBasaltError } from '../errors.ts'

/** The one table that a stream was refused for. */
export function refusedTable(error: unknown): string | undefined {
  const table = isBasaltError(error, 'unknown_table') ? error.data?.table : undefined
  return typeof table === 'string' ? table : undefined
}
