import { sql } from '../../database/sql.ts'
import type { SystemDatabase } from '../../database/system-database.ts'

/** Rows removed by one statement, so that none takes long. */
const batchSize = 10_000

/**
 * Removes events that are older than the retention and that every consumer has taken.
 *
 * @returns how many
 */
export async function pruneOutbox(database: SystemDatabase, retentionHours: number): Promise<number> {
  let total = 0
  for (;;) {
    // By id, which grows with age: an index on the age would cost every write.
    const count = await database.count(sql`
      with oldest as materialized (
        select id, transaction_id, happened_at from basalt.outbox order by id limit ${batchSize}
      ),
      deleted as (
        delete from basalt.outbox where id in (
          select o.id from oldest o
          where o.happened_at < now() - make_interval(hours => ${retentionHours}::int)
            and not exists (
              select from basalt.event_cursors c where not pg_visible_in_snapshot(o.transaction_id, c.passed)
            )
        )
        returning transaction_id
      ),
      -- For those who come back to a place in the log.
      noted as (
        update basalt.outbox_pruned p set transaction_id = greatest(p.transaction_id, d.newest)
        from (select transaction_id as newest from deleted order by transaction_id desc limit 1) d
      )
      select from deleted`)
    total += count
    if (count < batchSize) return total
  }
}
