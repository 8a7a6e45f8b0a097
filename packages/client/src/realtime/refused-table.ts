import { isBasaltError } from '../errors.ts'

/** Returns the table for which the server refused a stream. */
export function refusedTable(error: unknown): string | undefined {
  const table = isBasaltError(error, 'unknown_table') ? error.data?.table : undefined
  return typeof table === 'string' ? table : undefined
}

/**
 * Returns true if a table name is or contains the refused name. The server reads a name with a comma as several names and
 * refuses one of them.
 */
export function isRefused(table: string, refused: string): boolean {
  return table.split(',').some((name) => name.trim() === refused)
}
