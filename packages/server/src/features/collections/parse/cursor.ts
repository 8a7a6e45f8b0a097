import { collectionErrors } from '../errors.ts'

/** The sort-key values of the last row of a page, as Postgres writes them; `undefined` before the first page. */
export type Cursor = readonly (string | null)[]

const lengthLimit = 4096

/**
 * Reads the token of {@link formatCursor}; empty means the first page.
 *
 * @throws AppError invalid_cursor
 */
export function parseCursor(token: string): Cursor | undefined {
  if (token === '') return undefined
  if (token.length > lengthLimit) throw collectionErrors.invalidCursor('cursor too long')
  let decoded: unknown
  try {
    decoded = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
  } catch {
    throw collectionErrors.invalidCursor('')
  }
  const values = typeof decoded === 'object' && decoded !== null && 'v' in decoded ? decoded.v : undefined
  const isKey = (value: unknown) => value === null || typeof value === 'string'
  if (!Array.isArray(values) || !values.every(isKey)) throw collectionErrors.invalidCursor('')
  return values
}

/** Unpadded base64url of `{"v": […]}` (facts, List). */
export function formatCursor(values: Cursor): string {
  return Buffer.from(JSON.stringify({ v: values })).toString('base64url')
}
