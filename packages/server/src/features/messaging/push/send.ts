import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { PushMessage } from './message.ts'
import type { ProviderName } from './provider.ts'

/** Recipient of a message. */
export type Target =
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'device'; readonly deviceId: string }
  | { readonly kind: 'topic'; readonly topic: string }

export interface NewSend {
  readonly appId: string
  readonly target: Target
  readonly message: PushMessage
  /** Time of sending. Undefined means now. */
  readonly sendAt: Date | undefined
  readonly idempotencyKey: string | undefined
  /** SHA-256 of the target and the message. */
  readonly requestHash: Buffer
}

/** Inserts a message, unless the app has used the idempotency key before. */
export function insertSend(
  database: Queryable,
  { appId, target, message, sendAt, idempotencyKey, requestHash }: NewSend,
): Promise<{ readonly id: string } | undefined> {
  const topic = target.kind === 'topic' ? target.topic : null
  const hash = idempotencyKey === undefined ? null : requestHash
  return database.maybeOne<{ id: string }>(sql`
    insert into basalt.push_sends (app_id, topic, title, body, data, options, idempotency_key, request_hash, send_at)
    values (${appId}, ${topic}, ${message.title}, ${message.body}, ${JSON.stringify(message.data)}::jsonb,
      ${JSON.stringify(message.options)}::jsonb, ${idempotencyKey ?? null}, ${hash},
      coalesce(${sendAt?.toISOString() ?? null}::timestamptz, now()))
    on conflict (app_id, idempotency_key) do nothing
    returning id`)
}

export function findSendByKey(
  database: Queryable,
  appId: string,
  key: string,
): Promise<{ readonly id: string; readonly request_hash: Buffer } | undefined> {
  return database.maybeOne<{ id: string; request_hash: Buffer }>(sql`
    select id, request_hash from basalt.push_sends where app_id = ${appId} and idempotency_key = ${key}`)
}

/** Message with counts of its deliveries by status. */
export const PushSend = component(
  'PushSend',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    app_id: Type.String({ format: 'uuid' }),
    topic: nullable(Type.String()),
    title: Type.String(),
    body: Type.String(),
    send_at: timestamp,
    created_at: timestamp,
    counts: component(
      'PushCounts',
      Type.Object({
        pending: Type.Integer(),
        sent: Type.Integer(),
        failed: Type.Integer(),
        invalid_token: Type.Integer(),
      }),
    ),
  }),
)
export type PushSend = Answered<typeof PushSend>

export async function findSend(database: Queryable, id: string): Promise<PushSend | undefined> {
  return await database.maybeOne<PushSend>(sql`
    select id, app_id, topic, title, body, send_at, created_at, (
      select jsonb_build_object(
        'pending', count(*) filter (where status = 'pending'),
        'sent', count(*) filter (where status = 'sent'),
        'failed', count(*) filter (where status = 'failed'),
        'invalid_token', count(*) filter (where status = 'invalid_token'))
      from basalt.push_deliveries where send_id = s.id
    ) as counts
    from basalt.push_sends s where id = ${id}`)
}

/** Device that a message is sent to. */
export interface Recipient {
  readonly id: string
  readonly user_id: string
  readonly provider: ProviderName
  readonly [column: string]: unknown
}

/** Returns the active devices of a user. */
export function findDevicesOfUser(database: Queryable, appId: string, userId: string): Promise<Recipient[]> {
  return database.many<Recipient>(sql`
    select id, user_id, provider from basalt.push_devices
    where app_id = ${appId} and user_id = ${userId} and is_active order by created_at, id`)
}

/** Returns active devices of a topic whose id is after the given one. */
export function findDevicesOfTopic(
  database: Queryable,
  sendId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<Recipient[]> {
  return database.many<Recipient>(sql`
    select d.id, d.user_id, d.provider
    from basalt.push_sends s join basalt.push_devices d on d.app_id = s.app_id
    where s.id = ${sendId} and d.topics @> array[s.topic] and d.is_active and d.id > ${after}
    order by d.id limit ${limit}`)
}

/** Maximum number of messages that one statement deletes. Their deliveries go with them. */
const sendsAtOnce = 100

/** Deletes messages that were due this many days ago and have no pending deliveries, with their deliveries. */
export function deleteSends(database: Queryable, days: number): Promise<number> {
  return deleteInBatches(
    database,
    'push_sends',
    sql`created_at < now() - make_interval(days => ${days})
      -- Before its time a message to a topic has no deliveries.
      and send_at < now() - make_interval(days => ${days})
      and not exists (
        select from basalt.push_deliveries d where d.send_id = push_sends.id and d.status = 'pending')`,
    sendsAtOnce,
  )
}
