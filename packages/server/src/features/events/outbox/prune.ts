import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'

/** Maximum number of rows that one statement removes, so that none takes long. */
const batchSize = 10_000

export interface PruneResult {
  readonly removed: number
  /** Number of removed rows that a consumer without a reading node had not processed. */
  readonly discarded: number
}

/**
 * Removes events that are older than the retention and that every consumer has processed. It does not wait for a
 * consumer that no node has read for during the whole retention, because the log would grow for ever.
 */
export async function pruneOutbox(database: SystemDatabase, retentionHours: number): Promise<PruneResult> {
  const pruned = { removed: 0, discarded: 0 }
  const oldest = sql`now() - make_interval(hours => ${retentionHours}::int)`
  for (;;) {
    // Finds old rows by id, which grows with age. An index on the age would slow down every write.
    const { removed, discarded } = await database.one<{ removed: number; discarded: number }>(sql`
      with oldest as materialized (
        select id, transaction_id, happened_at from basalt.outbox order by id limit ${batchSize}
      ),
      deleted as (
        delete from basalt.outbox where id = any (array(
          select o.id from oldest o
          where o.happened_at < ${oldest}
            and not exists (
              select from basalt.event_cursors c
              where not pg_visible_in_snapshot(o.transaction_id, c.passed) and c.leased_until > ${oldest}
            )
        ))
        returning transaction_id
      ),
      -- Consumers that resume at a position of the log read this.
      noted as (
        update basalt.outbox_pruned p set transaction_id = greatest(p.transaction_id, d.newest)
        from (select transaction_id as newest from deleted order by transaction_id desc limit 1) d
      )
      select count(*)::int as removed,
        count(*) filter (where exists (
          select from basalt.event_cursors c where not pg_visible_in_snapshot(d.transaction_id, c.passed)
        ))::int as discarded
      from deleted d`)
    pruned.removed += removed
    pruned.discarded += discarded
    if (removed < batchSize) return pruned
  }
}
