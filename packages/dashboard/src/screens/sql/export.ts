import { formatCsv, formatJson, isNumeric as isNumericType } from '../../grid/clipboard.ts'
import type { ResultColumn, StatementResult } from './api.ts'

type Result = Pick<StatementResult, 'columns' | 'rows'>

export function exportCsv({ columns, rows }: Result, isForSpreadsheets: boolean): string {
  const titled = columns.map(({ name }) => ({ title: name }))
  return formatCsv(titled, rows, isForSpreadsheets)
}

/** Exports an array of objects. Numbers keep their digits. Columns with equal names are numbered. */
export function exportJson({ columns, rows }: Result): string {
  const titles = uniqueNames(columns)
  const titled = columns.map(({ name, type }, index) => ({ title: titles[index] ?? name, type }))
  return `${formatJson(titled, rows)}\n`
}

export const isNumeric = ({ type }: ResultColumn) => isNumericType(type)

function uniqueNames(columns: readonly ResultColumn[]): string[] {
  const seen = new Map<string, number>()
  return columns.map(({ name }) => {
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return count === 1 ? name : `${name} ${count}`
  })
}
