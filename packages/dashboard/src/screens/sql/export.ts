import type { ResultColumn, StatementResult } from './api.ts'

type Result = Pick<StatementResult, 'columns' | 'rows'>

/** RFC 4180. @param isForSpreadsheets has programs that calculate take texts that begin like formulas as texts */
export function formatCsv({ columns, rows }: Result, isForSpreadsheets: boolean): string {
  const cell = (text: string | null) => {
    const safe =
      isForSpreadsheets && /^[=+\-@\t\r]/.test(text ?? '') && !isNumber(text ?? '')
        ? `'${text}`
        : (text ?? '')
    return /[",\r\n]/.test(safe) || safe === ''
      ? text === null
        ? ''
        : `"${safe.replaceAll('"', '""')}"`
      : safe
  }
  const lines = [columns.map(({ name }) => name), ...rows].map((row) => row.map(cell).join(','))
  return `${lines.join('\r\n')}\r\n`
}

/** An array of objects; numbers keep their digits. Of columns with one name each has its number. */
export function formatJson({ columns, rows }: Result): string {
  const names = uniqueNames(columns)
  const objects = rows.map(
    (row) =>
      `  {${row.map((value, index) => `${JSON.stringify(names[index])}: ${jsonOf(value, columns[index]?.type ?? '')}`).join(', ')}}`,
  )
  return `[\n${objects.join(',\n')}\n]\n`
}

const numbers = new Set(['smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision', 'oid'])

export const isNumeric = ({ type }: ResultColumn) => numbers.has(type)

function jsonOf(value: string | null, type: string): string {
  if (value === null) return 'null'
  if (type === 'boolean') return String(value === 't')
  if (numbers.has(type) && isNumber(value)) return value
  if ((type === 'json' || type === 'jsonb') && isJson(value)) return value
  return JSON.stringify(value)
}

const isNumber = (text: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)

/** A value that was cut is none. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function uniqueNames(columns: readonly ResultColumn[]): string[] {
  const seen = new Map<string, number>()
  return columns.map(({ name }) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count === 1 ? name : `${name} ${count}`
  })
}
