import { isJson } from '../ui/json.ts'
import { quoteName, quoteText } from '../ui/sql.ts'

/** Functions that convert cells to text for other programs, and back. All are pure. */

export type Cells = readonly (readonly (string | null)[])[]

export interface CopiedColumn {
  readonly title: string
  readonly type: string
}

/**
 * Formats cells as spreadsheets do in the clipboard: tabs between cells, and quotes around cells with a tab, quote or line
 * break.
 */
export function formatTabs(cells: Cells): string {
  return cells.map((row) => row.map((cell) => quoteIf(/["\t\n\r]/, cell ?? '')).join('\t')).join('\n')
}

/**
 * Formats cells as CSV (RFC 4180). Empty strings are quoted, and NULL is not.
 *
 * @param isForSpreadsheets true to make spreadsheet programs read texts that look like formulas as texts
 */
export function formatCsv(
  columns: readonly Pick<CopiedColumn, 'title'>[],
  cells: Cells,
  isForSpreadsheets = false,
): string {
  const write = (text: string | null) => {
    if (text === null) return ''
    const isFormula = isForSpreadsheets && /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !isNumber(text)
    return quoteIf(/[",\r\n]|^$/, isFormula ? `'${text}` : text)
  }
  const rows = [columns.map(({ title }) => title), ...cells]
  return `${rows.map((row) => row.map(write).join(',')).join('\r\n')}\r\n`
}

const isNumber = (text: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)

function quoteIf(special: RegExp, text: string): string {
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * Formats cells as JSON. Numbers, booleans and documents are written unchanged, except numbers that JSON does not support, such
 * as `NaN`.
 */
export function formatJson(columns: readonly CopiedColumn[], cells: Cells): string {
  const rows = cells.map(
    (row) =>
      `  {${columns.map(({ title, type }, index) => `${JSON.stringify(title)}: ${toJson(row[index] ?? null, type)}`).join(', ')}}`,
  )
  return `[\n${rows.join(',\n')}\n]`
}

const plainNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

export function toJson(text: string | null, type: string): string {
  if (text === null) return 'null'
  if (isNumeric(type) && plainNumber.test(text)) return text
  if (type === 'boolean') return text === 't' || text === 'true' ? 'true' : 'false'
  if (type === 'json' || type === 'jsonb') return isJson(text) ? text : JSON.stringify(text)
  return JSON.stringify(text)
}

/** Formats cells as an `insert` with quoted constants, which PostgreSQL converts to the types of the columns. */
export function formatInsert(table: string, columns: readonly CopiedColumn[], cells: Cells): string {
  const names = columns.map(({ title }) => quoteName(title)).join(', ')
  const rows = cells.map(
    (row) => `  (${row.map((cell) => (cell === null ? 'null' : quoteText(cell))).join(', ')})`,
  )
  return `insert into ${table} (${names}) values\n${rows.join(',\n')};`
}

export const isNumeric = (type: string) =>
  /^(smallint|integer|bigint|oid|real|double precision|numeric|money)/.test(type) && !type.endsWith('[]')

/** Parses the text that {@link formatTabs} writes, or plain text. */
export function parseTabs(text: string): string[][] {
  const rows: string[][] = [[]]
  let position = 0
  while (position <= text.length) {
    const { value, end } = readCell(text, position)
    rows.at(-1)?.push(value)
    if (text[end] === '\t') {
      position = end + 1
      continue
    }
    const next = end + (text.startsWith('\r\n', end) ? 2 : 1)
    // In most programs the last line ends with a line feed.
    if (next >= text.length) break
    rows.push([])
    position = next
  }
  return rows
}

function readCell(text: string, start: number): { readonly value: string; readonly end: number } {
  if (text[start] === '"') {
    const quoted = /"((?:[^"]|"")*)"(?=[\t\r\n]|$)/y
    quoted.lastIndex = start
    const match = quoted.exec(text)
    if (match !== null) return { value: (match[1] ?? '').replaceAll('""', '"'), end: quoted.lastIndex }
  }
  let end = start
  while (end < text.length && text[end] !== '\t' && text[end] !== '\n' && text[end] !== '\r') end += 1
  return { value: text.slice(start, end), end }
}
