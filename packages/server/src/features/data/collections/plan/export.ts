import type { Column, Relation } from '../../../../database/catalog/model.ts'
import type { ExportQuery } from '../parse/export.ts'
import { type OrderKey, planOrder, relationsOfOrder } from './order.ts'
import { visibleColumns } from './reader.ts'
import { requireColumn } from './references.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows, searchOf } from './rows.ts'
import { planDistance } from './spatial.ts'

/** Export of all rows of a request as a file. */
export interface ExportPlan extends Pick<ExportQuery, 'format' | 'isForSpreadsheet'> {
  readonly rows: RowsPlan
  readonly columns: readonly Column[]
  readonly order: readonly OrderKey[]
  readonly maxRows: number
}

/** @throws AppError naming the parameter */
export function planExport(
  context: PlanContext,
  relation: Relation,
  query: ExportQuery,
  maxRows: number,
): ExportPlan {
  const { format, isForSpreadsheet, fields, sort } = query
  const columns = fields?.map((name) => requireColumn(relation, name, 'fields', context.reader))
  const rows = planRows(context, relation, query)
  const distance = query.distance && planDistance(context, relation, query.distance)
  return {
    format,
    isForSpreadsheet,
    rows,
    columns: columns === undefined ? visibleColumns(relation, context.reader) : [...new Set(columns)],
    order: planOrder(relation, sort, context.reader, {
      catalog: context.catalog,
      search: searchOf(rows),
      distance,
    }).keys,
    maxRows,
  }
}

/** Returns every relation that the export reads. */
export function relationsOfExport({ rows, order }: ExportPlan): readonly Relation[] {
  return [...new Set([...relationsOfRows(rows), ...relationsOfOrder(order)])]
}
