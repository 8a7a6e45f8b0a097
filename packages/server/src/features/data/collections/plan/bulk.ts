import type { Column, Relation } from '../../../../database/catalog/model.ts'
import type { BulkQuery } from '../parse/write-query.ts'
import { planRecord, planWholeRecord, type RecordPlan, relationsOf } from './record.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows } from './rows.ts'

/** A write of all records that a filter finds. */
export interface BulkPlan {
  readonly action: 'update' | 'delete'
  readonly rows: RowsPlan
  /** The whole record. */
  readonly record: RecordPlan
  /** What is answered of each record; undefined: their number alone. */
  readonly answer: RecordPlan | undefined
  /** What an update writes. */
  readonly columns: readonly Column[]
  /** More records than this are never written by one request. */
  readonly limit: number
}

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

/** Every relation that the write touches or reads. */
export function relationsOfBulk({ rows, answer }: BulkPlan): readonly Relation[] {
  return [...new Set([...relationsOfRows(rows), ...(answer === undefined ? [] : relationsOf(answer))])]
}
