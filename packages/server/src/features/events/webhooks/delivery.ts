import { countOrEstimate, type Total } from '../../../database/estimated-total.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { type RowOf, withoutNulls } from '../../../lib/without-nulls.ts'
import { webhookErrors } from './errors.ts'
import { getWebhook } from './webhook.ts'

const attempt = {
  success: Type.Boolean(),
  statusCode: Type.Optional(Type.Integer()),
  durationMs: Type.Integer(),
  error: Type.Optional(Type.String()),
}

/** Attempt to deliver an event. */
export const WebhookDelivery = component(
  'WebhookDelivery',
  Type.Object({
    id: Type.String(),
    webhookId: Type.String(),
    eventId: Type.String({ description: 'Value of the header `webhook-id`, the same in every attempt.' }),
    eventAction: Type.String(),
    eventTable: Type.String(),
    ...attempt,
    attempt: Type.Integer(),
    requestBody: Type.String(),
    responseBody: Type.Optional(Type.String({ description: 'The first 64 KiB of the response.' })),
    deliveredAt: timestamp,
  }),
)
export type WebhookDelivery = Answered<typeof WebhookDelivery>

/** Attempt that is not part of the log of deliveries. */
export const WebhookTrial = component(
  'WebhookTrial',
  Type.Object({ ...attempt, responseBody: WebhookDelivery.properties.responseBody }),
)

/** Outcome of one attempt. */
export interface Outcome {
  readonly success: boolean
  readonly statusCode: number | undefined
  readonly durationMs: number
  readonly error: string | undefined
  readonly responseBody: string | undefined
}

const columns = sql`d.id, d.webhook_id as "webhookId", d.event_id as "eventId", d.event_action as "eventAction",
  d.event_table as "eventTable", d.success, d.status_code as "statusCode", d.attempt, d.duration_ms as "durationMs",
  d.error, d.request_body as "requestBody", d.response_body as "responseBody", d.delivered_at as "deliveredAt"`

export interface DeliveryFilter {
  readonly webhookId: string
  readonly failedOnly: boolean
}

export async function listDeliveries(
  database: Queryable,
  filter: DeliveryFilter,
  { perPage, offset }: { readonly perPage: number; readonly offset: number },
): Promise<WebhookDelivery[]> {
  const rows = await database.many<RowOf<WebhookDelivery>>(sql`
    select ${columns} ${matching(filter)}
    order by d.delivered_at desc, d.id
    limit ${perPage}::int offset ${offset}::bigint`)
  return rows.map((row) => withoutNulls<WebhookDelivery>(row))
}

export function countDeliveries(database: Queryable, filter: DeliveryFilter): Promise<Total> {
  return countOrEstimate(database, matching(filter))
}

function matching({ webhookId, failedOnly }: DeliveryFilter): Sql {
  return sql`from basalt.webhook_deliveries d
    where d.webhook_id = ${webhookId}::uuid ${failedOnly ? sql`and not d.success` : sql.empty}`
}

/** @throws AppError webhook_not_found, delivery_not_found */
export async function getDelivery(
  database: Queryable,
  webhookId: string,
  id: string,
): Promise<WebhookDelivery> {
  await getWebhook(database, webhookId)
  const row = isUuid(id)
    ? await database.maybeOne<RowOf<WebhookDelivery>>(sql`
        select ${columns} from basalt.webhook_deliveries d
        where d.id = ${id}::uuid and d.webhook_id = ${webhookId}::uuid`)
    : undefined
  if (row === undefined) throw webhookErrors.deliveryNotFound()
  return withoutNulls<WebhookDelivery>(row)
}

/**
 * Records a manual replay of an event.
 *
 * @throws AppError webhook_not_found if it was deleted while the attempt was in flight
 */
export async function insertReplay(
  database: Queryable,
  { id, webhookId, eventId, eventAction, eventTable, requestBody }: WebhookDelivery,
  { success, statusCode, durationMs, error, responseBody }: Outcome,
): Promise<WebhookDelivery> {
  const row = await database.maybeOne<RowOf<WebhookDelivery>>(sql`
    insert into basalt.webhook_deliveries as d (webhook_id, event_id, event_action, event_table, success, status_code,
      attempt, duration_ms, error, request_body, response_body, log_id, record_key, old_record_key)
    select w.id, ${eventId}::uuid, ${eventAction}, ${eventTable}, ${success}, ${statusCode ?? null}::int,
      1 + coalesce((
        select max(d.attempt) from basalt.webhook_deliveries d
        where d.webhook_id = w.id and d.event_id = ${eventId}::uuid
      ), 0),
      ${durationMs}::int, ${error ?? null}, ${requestBody}, ${responseBody ?? null},
      replayed.log_id, replayed.record_key, replayed.old_record_key
    from basalt.webhooks w
    left join basalt.webhook_deliveries replayed on replayed.id = ${id}::uuid
    where w.id = ${webhookId}::uuid
    returning ${columns}`)
  if (row === undefined) throw webhookErrors.webhookNotFound()
  return withoutNulls<WebhookDelivery>(row)
}
