import type { Column, Relation } from '../../../../database/catalog/model.ts'
import type { BulkQuery } from '../parse/write-query.ts'
import { planRecord, planWholeRecord, type RecordPlan, relationsOf } from './record.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows } from './rows.ts'

/** Write of all records that match a filter. */
export interface BulkPlan {
  readonly action: 'update' | 'delete'
  readonly rows: RowsPlan
  /** Plan of the whole record. */
  readonly record: RecordPlan
  /** Form of each returned record. Undefined: only their number is returned. */
  readonly answer: RecordPlan | undefined
  /** Columns that an update writes. */
  readonly columns: readonly Column[]
  /** Columns whose value an update changes, rather than replaces. */
  readonly changes?: ReadonlyMap<Column, ColumnChange>
  /** Maximum number of records that one request may write. */
  readonly limit: number
}

/** Way in which the value of the body changes that of a column: `+`, or `||` with the value after or before it. */
export type ColumnChange = 'increment' | 'append' | 'prepend'

/** @throws AppError naming the parameter */
export function planBulk(
  context: PlanContext,
  relation: Relation,
  query: BulkQuery,
  work: Pick<BulkPlan, 'action' | 'columns' | 'limit'>,
): BulkPlan {
  const { catalog, reader } = context
  return {
    ...work,
    rows: planRows(context, relation, { filter: query.filter, search: undefined }),
    record: planWholeRecord(relation, reader),
    answer: query.records && planRecord(catalog, relation, query.records, reader),
  }
}

/** Returns every relation that the write changes or reads. */
export function relationsOfBulk({ rows, answer }: BulkPlan): readonly Relation[] {
  return [...new Set([...relationsOfRows(rows), ...(answer === undefined ? [] : relationsOf(answer))])]
}
