import type { Column, Relation } from '../../../../database/catalog/model.ts'
import type { ExportQuery } from '../parse/export.ts'
import { type OrderKey, planOrder } from './order.ts'
import { type Reader, visibleColumns } from './reader.ts'
import { requireColumn } from './record.ts'
import { planRows, type RowsPlan } from './rows.ts'

/** All rows of a request, as a file. */
export interface ExportPlan extends Pick<ExportQuery, 'format' | 'isForSpreadsheet'> {
  readonly rows: RowsPlan
  readonly columns: readonly Column[]
  readonly order: readonly OrderKey[]
  readonly maxRows: number
}

/** @throws AppError naming the parameter */
export function planExport(
  relation: Relation,
  query: ExportQuery,
  reader: Reader,
  maxRows: number,
): ExportPlan {
  const { format, isForSpreadsheet, fields, sort } = query
  const columns = fields?.map((name) => requireColumn(relation, name, 'fields'))
  return {
    format,
    isForSpreadsheet,
    rows: planRows(relation, query),
    columns: columns === undefined ? visibleColumns(relation, reader) : [...new Set(columns)],
    order: planOrder(relation, sort).keys,
    maxRows,
  }
}
