import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { countOrEstimate, type Total } from '../../../database/estimated-total.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { type SmsStatus, smsStatuses, statusesBefore } from './statuses.ts'

/** Text message with its delivery. */
export const SmsMessage = component(
  'SmsMessage',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    user_id: nullable(Type.String({ format: 'uuid' }), {
      description: 'Sender. null for codes and messages of administrators.',
    }),
    to: Type.String({ description: 'E.164.' }),
    body: Type.String({ description: 'Text in which codes are replaced by `[redacted]`.' }),
    provider: Type.String(),
    message_id: nullable(Type.String(), {
      description: 'Id at the provider. null until the provider has accepted the message.',
    }),
    status: choice(smsStatuses),
    error_message: nullable(Type.String(), { description: 'Reason of a failure.' }),
    created_at: timestamp,
    updated_at: timestamp,
  }),
)
export type SmsMessage = Answered<typeof SmsMessage>

/** Returns the message without the provider's reason of a failure, which is for the operator. */
export function withoutReason(message: SmsMessage): SmsMessage {
  const isFailed = message.error_message !== null
  return { ...message, error_message: isFailed ? 'the message was not delivered' : null }
}

const columns = sql`
  id, user_id, recipient as "to", body, provider, message_id, status, error_message, created_at, updated_at`

export interface NewMessage {
  readonly to: string
  /** Text without codes. */
  readonly body: string
  readonly provider: string
  readonly userId: string | undefined
  /** Key of the message, the same for every attempt to send it. */
  readonly key: string | undefined
}

/** Inserts a message. Returns undefined when the provider has accepted it at an earlier attempt. */
export function insertMessage(
  database: Queryable,
  { to, body, provider, userId, key }: NewMessage,
): Promise<{ readonly id: string } | undefined> {
  return database.maybeOne<{ id: string }>(sql`
    insert into basalt.sms_messages as m (recipient, body, provider, user_id, send_key)
    values (${to}, ${body}, ${provider}, ${userId ?? null}, ${key ?? null})
    on conflict (send_key) do update
      set status = 'pending', error_message = null, provider = excluded.provider, updated_at = now()
      where m.message_id is null
    returning id`)
}

export function markAccepted(
  database: Queryable,
  id: string,
  messageId: string | undefined,
): Promise<SmsMessage | undefined> {
  return database.maybeOne<SmsMessage>(sql`
    update basalt.sms_messages
    set message_id = coalesce(${messageId ?? null}, id::text), status = 'accepted', updated_at = now()
    where id = ${id} and message_id is null
    returning ${columns}`)
}

export function markRejected(database: Queryable, id: string, reason: string): Promise<number> {
  return database.count(sql`
    update basalt.sms_messages set status = 'failed', error_message = ${reason}, updated_at = now()
    where id = ${id} and message_id is null`)
}

export interface StatusReport {
  readonly provider: string
  readonly messageId: string
  readonly status: SmsStatus
  readonly error: string | undefined
}

/** Advances the status of a message. A message at the same or a later status stays unchanged. */
export function advanceStatus(database: Queryable, report: StatusReport): Promise<number> {
  return database.count(sql`
    update basalt.sms_messages
    set status = ${report.status}, error_message = coalesce(${report.error ?? null}, error_message), updated_at = now()
    where message_id = ${report.messageId} and provider = ${report.provider}
      and status = any(${statusesBefore(report.status)})`)
}

/** Returns whether a message has this id. */
export async function isMessageKnown(database: Queryable, report: StatusReport): Promise<boolean> {
  const { known } = await database.one<{ known: boolean }>(sql`
    select exists (
      select from basalt.sms_messages where message_id = ${report.messageId} and provider = ${report.provider}
    ) as known`)
  return known
}

/** Stores a report until the message is known. */
export async function keepReport(database: Queryable, report: StatusReport): Promise<void> {
  const { provider, messageId, status, error } = report
  await database.count(sql`
    insert into basalt.sms_early_reports (provider, message_id, status, error_message)
    values (${provider}, ${messageId}, ${status}, ${error ?? null})
    on conflict do nothing`)
}

interface EarlyReportRow {
  readonly status: SmsStatus
  readonly error_message: string | null
  readonly [column: string]: unknown
}

/** Deletes and returns the reports that arrived before the message was known. */
export function consumeReports(
  transaction: Queryable,
  { provider, messageId }: { readonly provider: string; readonly messageId: string },
): Promise<EarlyReportRow[]> {
  return transaction.many<EarlyReportRow>(sql`
    delete from basalt.sms_early_reports where provider = ${provider} and message_id = ${messageId}
    returning status, error_message`)
}

/** Deletes reports of messages that never became known. */
export function deleteReports(database: Queryable): Promise<number> {
  return database.count(sql`
    delete from basalt.sms_early_reports where received_at < now() - interval '1 day'`)
}

export interface MessageFilter {
  readonly userId?: string
  readonly limit: number
  readonly offset: number
}

/** Lists messages, the newest first. */
export function listMessages(
  database: Queryable,
  { userId, limit, offset }: MessageFilter,
): Promise<SmsMessage[]> {
  const filter = userId === undefined ? sql`true` : sql`user_id = ${userId}`
  return database.many<SmsMessage>(sql`
    select ${columns} from basalt.sms_messages where ${filter}
    order by created_at desc, id desc limit ${limit} offset ${offset}`)
}

export function countMessages(database: Queryable): Promise<Total> {
  return countOrEstimate(database, sql`from basalt.sms_messages`)
}

export function findMessageOf(
  database: Queryable,
  userId: string,
  id: string,
): Promise<SmsMessage | undefined> {
  return database.maybeOne<SmsMessage>(sql`
    select ${columns} from basalt.sms_messages where id = ${id} and user_id = ${userId}`)
}

/** Counts accepted, delivered and failed messages by period. Days are in UTC. */
export async function countOutcomes(database: Queryable) {
  type Counts = Record<'sent' | 'confirmed' | 'failed', number> & { readonly period: string }
  return await database.many<Counts>(sql`
    select period,
      count(m.message_id)::int as sent,
      count(*) filter (where m.status = 'delivered')::int as confirmed,
      count(*) filter (where m.status in ('failed', 'undelivered', 'canceled'))::int as failed
    from (values
      ('today', date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'),
      ('last_7d', now() - interval '7 days'),
      ('last_30d', now() - interval '30 days')
    ) as periods (period, since)
    left join basalt.sms_messages m on m.created_at >= since
    group by period`)
}

export function deleteMessages(database: Queryable, days: number): Promise<number> {
  return deleteInBatches(database, 'sms_messages', sql`created_at < now() - make_interval(days => ${days})`)
}
