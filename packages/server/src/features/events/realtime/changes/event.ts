import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Batch, readBatch } from './batch.ts'
import type { Position } from './position.ts'

/** One change of one record, from the log. */
export interface LogEvent {
  /** Of `basalt.outbox`. */
  readonly id: string
  readonly transactionId: string
  readonly action: 'create' | 'update' | 'delete'
  readonly table: string
  /** JSON of the whole row: as it is now, or as it was deleted. */
  readonly record: string
  /** JSON of the row before an update. */
  readonly oldRecord: string | null
  /** Values of the primary key as texts; null where there is none. */
  readonly key: readonly string[] | null
  /** The same before an update that changed it. */
  readonly oldKey: readonly string[] | null
}

/** A batch ends with the event that fills it. */
const batchBytes = 1024 * 1024

/** Reads events of these tables beyond a position. @param upTo the snapshot to read up to; of now unless given */
export function readLog(
  database: Queryable,
  from: Position,
  tables: readonly string[],
  limit: number,
  upTo?: string,
): Promise<Batch<LogEvent>> {
  const question = {
    table: sql`basalt.outbox`,
    where: sql`o.table_name = any (${tables})`,
    columns: sql`
      o.transaction_id::text as "transactionId", o.action, o.table_name as "table",
      o.record::text as record, o.old_record::text as "oldRecord",
      (select array_agg(k) from json_array_elements_text(o.record_key::json) k) as key,
      (select array_agg(k) from json_array_elements_text(o.old_record_key::json) k) as "oldKey"`,
    size: sql`octet_length(o.record::text) + coalesce(octet_length(o.old_record::text), 0)`,
    limit,
    batchBytes,
  }
  return readBatch<LogEvent>(database, from, question, upTo)
}

/** What is needed to say whether the log still holds all that comes after a position. */
export async function readLogBounds(database: Queryable): Promise<{ pruned: bigint; end: bigint }> {
  const { pruned, end } = await database.one<{ pruned: string; end: string }>(sql`
    select transaction_id::text as pruned, pg_snapshot_xmax(pg_current_snapshot())::text as end
    from basalt.outbox_pruned`)
  return { pruned: BigInt(pruned), end: BigInt(end) }
}
