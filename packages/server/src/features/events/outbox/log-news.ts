import { type Sql, sql } from '../../../database/sql.ts'

/** Announced after a commit that has appended to the log. */
export const outboxTopic = 'outbox'

/**
 * Whether the log holds rows of transactions that the snapshot does not see. Asked many times a second, so it is written
 * to be answered from the index on `transaction_id` whatever the planner believes of the table: the end of the index for
 * those that had not begun, one place in it for each that was running. With `exists` it takes a third of the table for
 * a match, expects one at once, and reads all of it to find none.
 */
export function hasRowsBeyond(table: Sql, snapshot: Sql): Sql {
  return sql`(
    coalesce((
      select transaction_id from ${table} order by transaction_id desc limit 1
    ) >= pg_snapshot_xmax(${snapshot}), false)
    or exists (
      select from pg_snapshot_xip(${snapshot}) as running (id)
      where (
        select transaction_id from ${table} where transaction_id >= running.id order by transaction_id limit 1
      ) = running.id
    )
  )`
}
