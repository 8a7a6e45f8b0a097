import type { Column } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { Sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import { compileWrite, type WriteOptions } from './write.ts'
import { compileWriteOnWorkers } from './write-on-workers.ts'

/** Compiles the statement of an action, in the form for the nodes that store the table. */
export function compileWriteStatement(
  action: ChangeAction,
  record: RecordPlan,
  columns: readonly Column[],
  options: WriteOptions,
): Sql {
  return record.relation.isOnWorkers
    ? compileWriteOnWorkers(action, record, columns, options)
    : compileWrite(action, record, columns, options)
}
