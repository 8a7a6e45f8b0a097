import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { webhookErrors } from './errors.ts'

/** Events of records, the default of a webhook. */
export const recordActions = ['create', 'update', 'delete'] as const
export const actions = [...recordActions, 'truncate'] as const

export const Webhook = component(
  'Webhook',
  Type.Object({
    id: Type.String(),
    url: Type.String(),
    hasSecret: Type.Boolean(),
    events: Type.Array(choice(actions)),
    tables: Type.Array(Type.String({ description: 'Name of a collection. An empty list means all tables.' })),
    enabled: Type.Boolean(),
    isOfFunction: Type.Boolean({
      description:
        'True if a function of the project gets the events. It follows the live deploy and cannot be changed.',
    }),
    pausedAt: nullable(timestamp, {
      description: 'Time at which the server paused the webhook. `enabled` is false then.',
    }),
    pausedReason: nullable(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type Webhook = Answered<typeof Webhook>

/** Fields of a webhook that clients set. */
export interface WebhookFields extends Pick<Webhook, 'url' | 'events' | 'tables' | 'enabled'> {
  /** Encrypted secret. */
  readonly secret: string | null
}

/** Secrets of a webhook, encrypted. */
interface Secrets {
  readonly secret: string | null
  /** Previous secret, while it still signs. */
  readonly previousSecret: string | null
}

/** Compiles the previous secret while it still signs. @param webhook its table or an alias of it */
export function previousSecretOf(webhook: string): Sql {
  const column = (name: string) => sql.id(webhook, name)
  return sql`case when ${column('previous_secret_until')} > now() then ${column('previous_secret')} end`
}

const columns = sql`id, url, secret is not null as "hasSecret", events, tables, enabled,
  function_name is not null as "isOfFunction", paused_at as "pausedAt",
  paused_reason as "pausedReason", created_at as "createdAt", updated_at as "updatedAt"`

export async function listWebhooks(database: Queryable): Promise<Webhook[]> {
  return await database.many<Webhook>(sql`select ${columns} from basalt.webhooks order by created_at, id`)
}

/** @throws AppError webhook_not_found */
export async function getWebhook(database: Queryable, id: string): Promise<Webhook> {
  return await one<Webhook>(database, id, sql`select ${columns} from basalt.webhooks where id = ${id}::uuid`)
}

/** Destination of the events of a webhook. */
export type Receiver = Secrets & { readonly webhookId: string; readonly url: string }

/** @throws AppError webhook_not_found, webhook_of_function */
export async function getReceiver(database: Queryable, id: string): Promise<Receiver> {
  const { isOfFunction, ...receiver } = await one<Receiver & Pick<Webhook, 'isOfFunction'>>(
    database,
    id,
    sql`
      select id as "webhookId", url, secret, ${previousSecretOf('webhooks')} as "previousSecret",
        function_name is not null as "isOfFunction"
      from basalt.webhooks where id = ${id}::uuid`,
  )
  if (isOfFunction) throw webhookErrors.webhookOfFunction()
  return receiver
}

/** Locks the webhook until the transaction ends. @throws AppError webhook_not_found, webhook_of_function */
export async function lockWebhook(transaction: Queryable, id: string): Promise<WebhookFields> {
  const { isOfFunction, ...webhook } = await one<WebhookFields & Pick<Webhook, 'isOfFunction'>>(
    transaction,
    id,
    sql`
      select url, secret, events, tables, enabled, function_name is not null as "isOfFunction"
      from basalt.webhooks where id = ${id}::uuid for no key update`,
  )
  if (isOfFunction) throw webhookErrors.webhookOfFunction()
  return webhook
}

/**
 * Locks the webhook until the transaction ends and notes the replay, so that nodes poll the queue.
 *
 * @throws AppError webhook_not_found
 */
export async function lockForReplay(transaction: Queryable, id: string): Promise<Webhook> {
  return await one<Webhook>(
    transaction,
    id,
    sql`update basalt.webhooks set replayed_at = clock_timestamp() where id = ${id}::uuid returning ${columns}`,
  )
}

export async function insertWebhook(
  database: Queryable,
  id: string,
  { url, secret, events, tables, enabled }: WebhookFields,
): Promise<Webhook> {
  return await database.one<Webhook>(sql`
    insert into basalt.webhooks (id, url, secret, events, tables, enabled)
    values (${id}::uuid, ${url}, ${secret}, ${events}::text[], ${tables}::text[], ${enabled})
    returning ${columns}`)
}

/** Hours for which a replaced secret signs beside its successor. */
const previousSecretHours = 24

/**
 * Updates a webhook. A replaced secret still signs for a while. A removed secret does not sign, and neither does the
 * one replaced before it.
 *
 * @param isResumed true to end a pause and restart the count of its hours
 * @param isSecretReplaced false also for the same secret sealed again
 */
export async function updateWebhook(
  database: Queryable,
  id: string,
  { url, secret, events, tables, enabled }: WebhookFields,
  { isResumed, isSecretReplaced }: { readonly isResumed: boolean; readonly isSecretReplaced: boolean },
): Promise<Webhook> {
  const resumed = isResumed ? sql`, paused_at = null, paused_reason = null, failing_since = null` : sql.empty
  const replaced = sql`secret,
    previous_secret_until = now() + make_interval(hours => ${previousSecretHours}::int)`
  const previous = secret === null ? sql`null` : previousSecretOf('webhooks')
  return await database.one<Webhook>(sql`
    update basalt.webhooks
    set url = ${url}, secret = ${secret},
      previous_secret = ${isSecretReplaced ? replaced : previous},
      events = ${events}::text[], tables = ${tables}::text[],
      enabled = ${enabled}, updated_at = now() ${resumed}
    where id = ${id}::uuid
    returning ${columns}`)
}

/** Deletes a webhook and returns it. @throws AppError webhook_not_found */
export async function deleteWebhook(database: Queryable, id: string): Promise<Webhook> {
  return await one<Webhook>(
    database,
    id,
    sql`delete from basalt.webhooks where id = ${id}::uuid returning ${columns}`,
  )
}

/** Counts the secrets of receivers by the key that has sealed them. A sealed secret begins with the name of its key. */
export async function countWebhookSecretsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(sql`
    select split_part(secret, '.', 1) as key, count(*)::int as count
    from basalt.webhooks
    where secret is not null
    group by 1`)
  return new Map(rows.map(({ key, count }) => [key, count]))
}

/** Returns the row of a webhook, for an id in any form. @throws AppError webhook_not_found */
async function one<Row extends object>(database: Queryable, id: string, statement: Sql): Promise<Row> {
  const row = isUuid(id) ? await database.maybeOne<Row & Record<string, unknown>>(statement) : undefined
  if (row === undefined) throw webhookErrors.webhookNotFound()
  return row
}
