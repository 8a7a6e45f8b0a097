import { type Sql, sql } from '../../../database/sql.ts'

/** Topic that is announced after a commit with new rows in the log. */
export const outboxTopic = 'outbox'

/**
 * Compiles a check for rows of transactions that the snapshot does not see. It runs many times a second, so the index
 * on `transaction_id` must serve it whatever the planner believes about the table. It reads the end of the index for
 * transactions that had not started, and one position for each running transaction. With `exists` the planner assumes that
 * a third of the table matches, expects a match at once, and reads the whole table to find none.
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
