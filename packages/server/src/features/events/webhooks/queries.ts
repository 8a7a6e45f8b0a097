import { countOrEstimate, type Total } from '../../../database/estimated-total.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

export interface WebhookRow {
  readonly id: string
  readonly url: string
  readonly secret: string | null
  /** While it still signs. */
  readonly previous_secret: string | null
  readonly events: string[]
  readonly tables: string[]
  readonly enabled: boolean
  readonly paused_at: Date | null
  readonly paused_reason: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

export interface DeliveryRow {
  readonly id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly event_action: string
  readonly event_table: string
  /** Of `basalt.outbox`. */
  readonly log_id: string | null
  readonly record_key: string | null
  readonly old_record_key: string | null
  readonly success: boolean
  readonly status_code: number | null
  readonly attempt: number
  readonly duration_ms: number
  readonly error: string | null
  readonly request_body: string
  readonly response_body: string | null
  readonly delivered_at: Date
}

/** The fields of a webhook that callers set; the secret is encrypted. */
export type WebhookFields = Pick<WebhookRow, 'url' | 'secret' | 'events' | 'tables' | 'enabled'>

type Row<Type> = Type & Record<string, unknown>

/** @param webhook its row, or an alias of it */
export function previousSecretOf(webhook: string): Sql {
  const column = (name: string) => sql.id(webhook, name)
  return sql`case when ${column('previous_secret_until')} > now() then ${column('previous_secret')} end`
}

const columns = sql`id, url, secret, ${previousSecretOf('webhooks')} as previous_secret, events, tables, enabled,
  paused_at, paused_reason, created_at, updated_at`

const deliveryColumns = sql`id, webhook_id, event_id, event_action, event_table, log_id::text, record_key,
  old_record_key, success, status_code, attempt, duration_ms, error, request_body, response_body, delivered_at`

export async function listWebhooks(database: Queryable): Promise<WebhookRow[]> {
  return await database.many<Row<WebhookRow>>(
    sql`select ${columns} from basalt.webhooks order by created_at, id`,
  )
}

export async function findWebhook(database: Queryable, id: string): Promise<WebhookRow | undefined> {
  return await database.maybeOne<Row<WebhookRow>>(
    sql`select ${columns} from basalt.webhooks where id = ${id}::uuid`,
  )
}

/** Keeps others from changing it until the transaction ends. */
export async function lockWebhook(transaction: Queryable, id: string): Promise<WebhookRow | undefined> {
  return await transaction.maybeOne<Row<WebhookRow>>(
    sql`select ${columns} from basalt.webhooks where id = ${id}::uuid for no key update`,
  )
}

/** Keeps others from changing it until the transaction ends; nodes then look at the queue. */
export async function noteReplay(transaction: Queryable, id: string): Promise<WebhookRow | undefined> {
  return await transaction.maybeOne<Row<WebhookRow>>(
    sql`update basalt.webhooks set replayed_at = clock_timestamp() where id = ${id}::uuid returning ${columns}`,
  )
}

export async function insertWebhook(
  database: Queryable,
  id: string,
  { url, secret, events, tables, enabled }: WebhookFields,
): Promise<WebhookRow> {
  return await database.one<Row<WebhookRow>>(sql`
    insert into basalt.webhooks (id, url, secret, events, tables, enabled)
    values (${id}::uuid, ${url}, ${secret}, ${events}::text[], ${tables}::text[], ${enabled})
    returning ${columns}`)
}

/** How long a secret that was replaced signs beside its successor. */
const previousSecretHours = 24

/**
 * A secret that is replaced still signs for a while, one that is removed does not, nor the one replaced before it.
 *
 * @param isResumed whether a pause ends, and with it the count of its hours
 * @param isSecretReplaced false also of the same secret sealed anew
 */
export async function updateWebhook(
  database: Queryable,
  id: string,
  { url, secret, events, tables, enabled }: WebhookFields,
  { isResumed, isSecretReplaced }: { readonly isResumed: boolean; readonly isSecretReplaced: boolean },
): Promise<WebhookRow> {
  const resumed = isResumed ? sql`, paused_at = null, paused_reason = null, failing_since = null` : sql.empty
  const replaced = sql`secret,
    previous_secret_until = now() + make_interval(hours => ${previousSecretHours}::int)`
  const kept = secret === null ? sql`null` : previousSecretOf('webhooks')
  return await database.one<Row<WebhookRow>>(sql`
    update basalt.webhooks
    set url = ${url}, secret = ${secret},
      previous_secret = ${isSecretReplaced ? replaced : kept},
      events = ${events}::text[], tables = ${tables}::text[],
      enabled = ${enabled}, updated_at = now() ${resumed}
    where id = ${id}::uuid
    returning ${columns}`)
}

/** The URL of the one that was there. */
export async function deleteWebhook(database: Queryable, id: string): Promise<string | undefined> {
  const row = await database.maybeOne<{ url: string }>(
    sql`delete from basalt.webhooks where id = ${id}::uuid returning url`,
  )
  return row?.url
}

export interface DeliveryPage {
  readonly page: number
  readonly perPage: number
  readonly offset: number
  readonly failedOnly: boolean
}

export async function listDeliveries(
  database: Queryable,
  webhookId: string,
  { perPage, offset, failedOnly }: DeliveryPage,
): Promise<DeliveryRow[]> {
  return await database.many<Row<DeliveryRow>>(sql`
    select ${deliveryColumns} from basalt.webhook_deliveries
    where ${ofWebhook(webhookId, failedOnly)}
    order by delivered_at desc, id
    limit ${perPage}::int offset ${offset}::bigint`)
}

export function countDeliveries(database: Queryable, webhookId: string, failedOnly: boolean): Promise<Total> {
  return countOrEstimate(
    database,
    sql`from basalt.webhook_deliveries where ${ofWebhook(webhookId, failedOnly)}`,
  )
}

function ofWebhook(webhookId: string, failedOnly: boolean): Sql {
  return sql`webhook_id = ${webhookId}::uuid ${failedOnly ? sql`and not success` : sql.empty}`
}

export async function findDelivery(
  database: Queryable,
  webhookId: string,
  id: string,
): Promise<DeliveryRow | undefined> {
  return await database.maybeOne<Row<DeliveryRow>>(sql`
    select ${deliveryColumns} from basalt.webhook_deliveries
    where id = ${id}::uuid and webhook_id = ${webhookId}::uuid`)
}

/** The outcome of one attempt. */
export interface Outcome {
  readonly success: boolean
  readonly statusCode: number | undefined
  readonly durationMs: number
  readonly error: string | undefined
  readonly responseBody: string | undefined
}

/** Records that an event was sent once more by hand. */
export async function insertReplay(
  database: Queryable,
  {
    webhook_id,
    event_id,
    event_action,
    event_table,
    log_id,
    record_key,
    old_record_key,
    request_body,
  }: DeliveryRow,
  { success, statusCode, durationMs, error, responseBody }: Outcome,
): Promise<DeliveryRow | undefined> {
  return await database.maybeOne<Row<DeliveryRow>>(sql`
    insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, success, status_code,
      attempt, duration_ms, error, request_body, response_body, log_id, record_key, old_record_key)
    select w.id, ${event_id}::uuid, ${event_action}, ${event_table}, ${success}, ${statusCode ?? null}::int,
      1 + coalesce((
        select max(d.attempt) from basalt.webhook_deliveries d
        where d.webhook_id = w.id and d.event_id = ${event_id}::uuid
      ), 0),
      ${durationMs}::int, ${error ?? null}, ${request_body}, ${responseBody ?? null},
      ${log_id}::bigint, ${record_key}::uuid, ${old_record_key}::uuid
    from basalt.webhooks w
    where w.id = ${webhook_id}::uuid
    returning ${deliveryColumns}`)
}

/** How many secrets of receivers each key has sealed; a sealed secret begins with the name of its key. */
export async function countWebhookSecretsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(sql`
    select split_part(secret, '.', 1) as key, count(*)::int as count
    from basalt.webhooks
    where secret is not null
    group by 1`)
  return new Map(rows.map(({ key, count }) => [key, count]))
}
