import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { type PushMessage, PushOptions } from './message.ts'
import { errorCodes, type Outcome, type ProviderName, providerNames, type WebPushKeys } from './provider.ts'

export const deliveryStates = ['pending', 'sent', 'failed', 'invalid_token'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** Message to one device. */
export const PushDelivery = component(
  'PushDelivery',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    send_id: Type.String({ format: 'uuid' }),
    device_token_id: Type.String({ format: 'uuid' }),
    job_id: nullable(Type.String({ format: 'uuid' })),
    app_id: Type.String({ format: 'uuid' }),
    user_id: Type.String({ format: 'uuid' }),
    provider: choice(providerNames),
    title: Type.String(),
    body: Type.String(),
    data: Type.Record(Type.String(), Type.String()),
    options: PushOptions,
    status: choice(deliveryStates),
    attempts: Type.Integer(),
    error_code: nullable(choice(errorCodes)),
    error_message: nullable(Type.String()),
    provider_message_id: nullable(Type.String()),
    send_at: timestamp,
    sent_at: nullable(timestamp),
    created_at: timestamp,
    updated_at: timestamp,
  }),
)
export type PushDelivery = Answered<typeof PushDelivery>

export interface DeliveryFilter {
  readonly appId?: string | undefined
  readonly userId?: string | undefined
  readonly sendId?: string | undefined
  readonly deviceId?: string | undefined
  readonly status?: DeliveryState | '' | undefined
  readonly limit: number
  readonly offset: number
}

const columns = sql`d.id, d.send_id, d.device_id as device_token_id, d.job_id, s.app_id, d.user_id, device.provider, s.title, s.body,
  s.data, s.options, d.status, d.attempts, d.error_code, d.error_message, d.provider_message_id, s.send_at, d.sent_at,
  d.created_at, d.updated_at`

const deliveries = sql`basalt.push_deliveries d
  join basalt.push_sends s on s.id = d.send_id
  join basalt.push_devices device on device.id = d.device_id`

/** Lists deliveries, the newest first. */
export function listDeliveries(database: Queryable, filter: DeliveryFilter): Promise<PushDelivery[]> {
  const conditions: Sql[] = [
    ...(filter.appId === undefined ? [] : [sql`s.app_id = ${filter.appId}`]),
    ...(filter.userId === undefined ? [] : [sql`d.user_id = ${filter.userId}`]),
    ...(filter.sendId === undefined ? [] : [sql`d.send_id = ${filter.sendId}`]),
    ...(filter.deviceId === undefined ? [] : [sql`d.device_id = ${filter.deviceId}`]),
    ...((filter.status ?? '') === '' ? [] : [sql`d.status = ${filter.status}`]),
  ]
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return database.many<PushDelivery>(sql`
    select ${columns} from ${deliveries} ${where}
    order by d.created_at desc, d.id desc limit ${filter.limit} offset ${filter.offset}`)
}

export function findDelivery(database: Queryable, id: string): Promise<PushDelivery | undefined> {
  return database.maybeOne<PushDelivery>(sql`select ${columns} from ${deliveries} where d.id = ${id}`)
}

/** Lists all deliveries of a message, the oldest device first. */
export function listDeliveriesOf(database: Queryable, sendId: string): Promise<PushDelivery[]> {
  return database.many<PushDelivery>(sql`
    select ${columns} from ${deliveries} where d.send_id = ${sendId} order by device.created_at, device.id`)
}

export interface NewDelivery {
  readonly id: string
  readonly deviceId: string
  readonly userId: string
  readonly jobId: string
}

/** Inserts deliveries, one per device and message, even if the call is repeated. */
export async function insertDeliveries(
  database: Queryable,
  sendId: string,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const column = <Name extends keyof NewDelivery>(name: Name) => deliveries.map((delivery) => delivery[name])
  await database.count(sql`
    insert into basalt.push_deliveries (id, send_id, device_id, user_id, job_id)
    select id, ${sendId}, device_id, user_id, job_id
    from unnest(${column('id')}::uuid[], ${column('deviceId')}::uuid[], ${column('userId')}::uuid[],
      ${column('jobId')}::uuid[]) as new (id, device_id, user_id, job_id)
    on conflict (send_id, device_id) do nothing`)
}

/** Assigns deliveries to another job. */
export async function moveToJob(database: Queryable, ids: readonly string[], jobId: string): Promise<void> {
  await database.count(sql`
    update basalt.push_deliveries set job_id = ${jobId} where id = any (${ids}::uuid[])`)
}

/** Delivery at the start of an attempt. */
export interface Attempt {
  readonly id: string
  /** Number of the attempt, starting at 1. An outcome under another number is rejected. */
  readonly attempt: number
  readonly provider: ProviderName
  readonly token: string
  readonly keys: WebPushKeys | null
  readonly is_active: boolean
  readonly inactive_reason: string | null
  /** False if another user has registered the device since. */
  readonly is_theirs: boolean
  readonly title: string
  readonly body: string
  readonly data: PushMessage['data']
  readonly options: PushOptions
  /** Seconds since the message was due. */
  readonly age: number
  readonly [column: string]: unknown
}

/** Starts an attempt of each pending delivery. */
export function beginAttempts(database: Queryable, ids: readonly string[]): Promise<Attempt[]> {
  return database.many<Attempt>(sql`
    update basalt.push_deliveries d set attempts = d.attempts + 1, updated_at = now()
    from basalt.push_sends s, basalt.push_devices device
    where d.id = any (${ids}::uuid[]) and s.id = d.send_id and device.id = d.device_id
      and d.status in ('pending', 'failed') and not d.is_final
    returning d.id, d.attempts as attempt, device.provider, device.token, device.keys, device.is_active,
      device.inactive_reason, device.user_id = d.user_id as is_theirs, s.title, s.body, s.data, s.options,
      extract(epoch from now() - s.send_at)::float8 as age`)
}

/** Outcome of one attempt, with its delivery. */
export interface AttemptEnd {
  readonly attempt: Attempt
  readonly outcome: Outcome
}

/**
 * Records outcomes, and deactivates devices that their provider no longer knows, unless they have registered
 * again since. An outcome of a replaced attempt is not recorded.
 */
export async function recordOutcomes(database: Queryable, ends: readonly AttemptEnd[]): Promise<void> {
  const rows = ends.map(({ attempt: { id, attempt }, outcome }) => ({
    id,
    attempt,
    status: statusOf(outcome),
    isFinal: outcome.kind === 'refused',
    code: 'code' in outcome ? outcome.code : null,
    reason: 'reason' in outcome ? outcome.reason : null,
    messageId: outcome.kind === 'sent' ? outcome.messageId : null,
    since: outcome.kind === 'dead' ? (outcome.since?.toISOString() ?? 'infinity') : null,
  }))
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((row) => row[name])
  await database.count(sql`
    with ended as (
      select * from unnest(${column('id')}::uuid[], ${column('attempt')}::int[], ${column('status')}::text[],
        ${column('isFinal')}::bool[], ${column('code')}::text[], ${column('reason')}::text[],
        ${column('messageId')}::text[], ${column('since')}::timestamptz[])
        as e (id, attempt, status, is_final, code, reason, message_id, since)
    ),
    recorded as (
      update basalt.push_deliveries d set
        status = e.status, is_final = e.is_final, error_code = e.code, error_message = e.reason,
        provider_message_id = coalesce(e.message_id, d.provider_message_id), updated_at = now(),
        sent_at = case when e.status = 'sent' then now() end
      from ended e
      where d.id = e.id and d.attempts = e.attempt and d.status in ('pending', 'failed')
      returning d.device_id, e.status, e.code, e.reason, e.since
    )
    update basalt.push_devices device set
      last_used = case when r.status = 'sent' then now() else device.last_used end,
      is_active = device.is_active and r.status <> 'invalid_token',
      inactive_reason = case when r.status = 'invalid_token' then r.code || ': ' || r.reason
        else device.inactive_reason end,
      updated_at = now()
    from (
      -- A device can be in several deliveries of a batch.
      select distinct on (device_id) * from recorded
      where status in ('sent', 'invalid_token')
      order by device_id, status
    ) r
    where device.id = r.device_id
      and (r.status = 'sent' or device.is_active and device.last_refreshed_at <= r.since)`)
}

function statusOf(outcome: Outcome): DeliveryState {
  switch (outcome.kind) {
    case 'sent':
      return 'sent'
    case 'dead':
      return 'invalid_token'
    case 'throttled':
      return 'pending'
    case 'failed':
    case 'refused':
      return 'failed'
  }
}
