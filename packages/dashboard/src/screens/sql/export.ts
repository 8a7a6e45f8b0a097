import { isNumeric as isNumericType, toJson } from '../../grid/clipboard.ts'
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
      `  {${row.map((value, index) => `${JSON.stringify(names[index])}: ${toJson(value, columns[index]?.type ?? '')}`).join(', ')}}`,
  )
  return `[\n${objects.join(',\n')}\n]\n`
}

export const isNumeric = ({ type }: ResultColumn) => isNumericType(type)

const isNumber = (text: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)

function uniqueNames(columns: readonly ResultColumn[]): string[] {
  const seen = new Map<string, number>()
  return columns.map(({ name }) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count === 1 ? name : `${name} ${count}`
  })
}
