import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/** Maximum number of rows that one statement removes, so that none takes long. */
const pruneSize = 10_000

/**
 * Removes deliveries older than the given hours, queued events of disabled webhooks of the same age, and secrets that
 * no longer sign. @returns the number of rows
 */
export async function pruneWebhooks(database: Queryable, retentionHours: number): Promise<number> {
  await clearPreviousSecrets(database)
  const oldest = sql`now() - make_interval(hours => ${retentionHours}::int)`
  const recorded = sql`
    select id from basalt.webhook_deliveries where delivered_at < ${oldest}
    order by delivered_at limit ${pruneSize}::int`
  const waiting = sql`
    select q.id from basalt.webhook_queue q join basalt.webhooks w on w.id = q.webhook_id
    where not w.enabled and q.created_at < ${oldest}
    limit ${pruneSize}::int`
  const remove = (table: string, ids: Sql) => sql`
    delete from ${sql.id('basalt', table)} where id = any (array(${ids}))`
  const count =
    (await removeAll(database, remove('webhook_deliveries', recorded))) +
    (await removeAll(database, remove('webhook_queue', waiting)))
  // The cascade then removes only a few rows.
  await removeOldFunctions(database, retentionHours)
  return count
}

async function clearPreviousSecrets(database: Queryable): Promise<void> {
  await database.count(sql`
    update basalt.webhooks set previous_secret = null, previous_secret_until = null
    where previous_secret_until <= now()`)
}

/** Removes functions that no deploy has had for so long, and what is left of their deliveries. */
async function removeOldFunctions(database: Queryable, retentionHours: number): Promise<void> {
  await database.count(sql`
    delete from basalt.webhooks
    where function_name is not null and not enabled
      and updated_at < now() - make_interval(hours => ${retentionHours}::int)`)
}

async function removeAll(database: Queryable, statement: Sql): Promise<number> {
  for (let total = 0; ; ) {
    const count = await database.count(statement)
    total += count
    if (count < pruneSize) return total
  }
}
