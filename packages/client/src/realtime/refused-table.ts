import { isBasaltError } from '../errors.ts'

/** The one table that a stream was refused for. */
export function refusedTable(error: unknown): string | undefined {
  const table = isBasaltError(error, 'unknown_table') ? error.data?.table : undefined
  return typeof table === 'string' ? table : undefined
}

/** The server reads a name with a comma in it as several, and refuses one of them. */
export function isRefused(table: string, refused: string): boolean {
  return table.split(',').some((name) => name.trim() === refused)
}
