import { collectionErrors } from '../errors.ts'

/**
 * End of a page: the sort keys of its last row, each with its value as PostgreSQL writes it. `undefined` is the
 * position before the first page.
 */
export type Cursor = readonly CursorKey[]

export interface CursorKey {
  /** Column name, with a `-` prefix when it sorts descending. */
  readonly key: string
  readonly value: string | null
}

const lengthLimit = 4096

/**
 * Parses a token of {@link formatCursor}. An empty token means the first page.
 *
 * @throws AppError invalid_cursor
 */
export function parseCursor(token: string): Cursor | undefined {
  if (token === '') return undefined
  if (token.length > lengthLimit) throw collectionErrors.cursorTooLong()
  const { k: keys, v: values } = decode(token)
  if (!isListOf(isText, keys) || !isListOf(isValue, values) || keys.length !== values.length) {
    throw collectionErrors.invalidCursor('')
  }
  return keys.map((key, index) => ({ key, value: values[index] ?? null }))
}

/**
 * Formats a cursor as unpadded base64url of `{"v": […], "k": […]}`: values and keys.
 *
 * @throws AppError invalid_parameter when the values are too long for a URL
 */
export function formatCursor(cursor: Cursor): string {
  const token = encode({ v: cursor.map(({ value }) => value), k: cursor.map(({ key }) => key) })
  if (token.length > lengthLimit) {
    throw collectionErrors.invalidParameter(
      'sort: the values of the last record are too long for a cursor; sort by shorter ones, or use page',
    )
  }
  return token
}

function encode(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}

function decode(token: string): { readonly k?: unknown; readonly v?: unknown } {
  let decoded: unknown
  try {
    decoded = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
  } catch {
    throw collectionErrors.invalidCursor('')
  }
  // The decoder skips characters outside base64url, so the token must equal its own encoding.
  if (typeof decoded !== 'object' || decoded === null || encode(decoded) !== token) {
    throw collectionErrors.invalidCursor('')
  }
  return decoded
}

function isListOf<Item>(isItem: (value: unknown) => value is Item, value: unknown): value is Item[] {
  return Array.isArray(value) && value.every(isItem)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isValue(value: unknown): value is string | null {
  return value === null || isText(value)
}
