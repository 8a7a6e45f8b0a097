import type { Column } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { Sql } from '../../../../database/sql.ts'
import type { BulkPlan } from '../plan/bulk.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { compileBulk } from './bulk.ts'
import { compileBulkOnWorkers } from './bulk-on-workers.ts'
import { compileUpsert, type UpsertOptions } from './upsert.ts'
import { compileUpsertOnWorkers } from './upsert-on-workers.ts'
import { compileWrite, type WriteOptions } from './write.ts'
import { compileWriteOnWorkers } from './write-on-workers.ts'

/** Compiles the statement of an action, in the form for the nodes that store the table. */
export function compileWriteStatement(
  action: ChangeAction,
  record: RecordPlan,
  columns: readonly Column[],
  options: WriteOptions,
): Sql {
  return record.relation.isInShards
    ? compileWriteOnWorkers(action, record, columns, options)
    : compileWrite(action, record, columns, options)
}

/** Compiles a write by filter, in the form for the nodes that store the table. */
export function compileBulkStatement(plan: BulkPlan, isCaptured: boolean): Sql {
  return plan.record.relation.isInShards
    ? compileBulkOnWorkers(plan, isCaptured)
    : compileBulk(plan, isCaptured)
}

/**
 * Compiles a create or update, in the form for the nodes that store the table.
 *
 * @throws AppError as of {@link compileUpsertOnWorkers}
 */
export function compileUpsertStatement(
  record: RecordPlan,
  columns: readonly Column[],
  plan: UpsertPlan,
  options: UpsertOptions,
): Sql {
  return record.relation.isInShards && plan.action === 'update'
    ? compileUpsertOnWorkers(record, columns, plan, options)
    : compileUpsert(record, columns, plan, options)
}
