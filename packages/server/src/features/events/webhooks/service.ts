import { randomUUID } from 'node:crypto'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Outbound } from '../../../http/outbound.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { Interests } from '../outbox/index.ts'
import { webhookErrors } from './errors.ts'
import { readEvents, readSecret, readTables, readUrl, type WebhookInput } from './fields.ts'
import * as queries from './queries.ts'
import { requireDelivery, requireWebhook } from './requirements.ts'
import { type Send, secretContext } from './send.ts'

/** A webhook as the administration sees it. */
export interface Webhook {
  readonly id: string
  readonly url: string
  readonly hasSecret: boolean
  readonly events: readonly string[]
  readonly tables: readonly string[]
  readonly enabled: boolean
  readonly pausedAt: string | null
  readonly pausedReason: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** One attempt. */
export interface Delivery {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventAction: string
  readonly eventTable: string
  readonly success: boolean
  readonly statusCode?: number
  readonly attempt: number
  readonly durationMs: number
  readonly error?: string
  readonly requestBody: string
  readonly responseBody?: string
  readonly deliveredAt: string
}

export interface DeliveryList {
  readonly items: readonly Delivery[]
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
}

export interface TestResult {
  readonly success: boolean
  readonly statusCode?: number
  readonly durationMs: number
  readonly error?: string
}

/** What the administration does with webhooks. Ids of any form; `origin` is the request. */
export interface WebhookService {
  /** Oldest first. */
  list(): Promise<Webhook[]>
  /** Answers when every node knows. @throws AppError invalid_webhook, webhook_target_refused */
  create(input: WebhookInput, origin: RequestOrigin): Promise<Webhook>
  /** @throws AppError webhook_not_found */
  get(id: string): Promise<Webhook>
  /** As create. @throws AppError webhook_not_found, invalid_webhook, webhook_target_refused */
  update(id: string, input: WebhookInput, origin: RequestOrigin): Promise<Webhook>
  /** @throws AppError webhook_not_found */
  delete(id: string, origin: RequestOrigin): Promise<void>
  /** @throws AppError webhook_not_found */
  test(id: string, origin: RequestOrigin): Promise<TestResult>
  /** @throws AppError webhook_not_found */
  listDeliveries(id: string, page: queries.DeliveryPage): Promise<DeliveryList>
  /** @throws AppError webhook_not_found, delivery_not_found */
  getDelivery(id: string, deliveryId: string): Promise<Delivery>
  /** @throws AppError webhook_not_found, delivery_not_found */
  replay(id: string, deliveryId: string, origin: RequestOrigin): Promise<Delivery>
}

export interface WebhookServiceDeps {
  readonly database: SystemDatabase
  readonly outbound: Outbound
  readonly secrets: () => SecretBox
  readonly interests: Interests
  readonly send: Send
}

export function createWebhookService(deps: WebhookServiceDeps): WebhookService {
  const { database, outbound, secrets, interests, send } = deps

  function requireAllowed(url: string): string {
    if (outbound.refuses(url)) throw webhookErrors.webhookTargetRefused()
    return url
  }

  function seal(id: string, secret: string | null): string | null {
    const text = readSecret(secret)
    return text === undefined ? null : secrets().seal(Buffer.from(text, 'utf8'), secretContext(id))
  }

  return {
    list: async () => (await queries.listWebhooks(database)).map(showWebhook),

    async create(input, origin) {
      const id = randomUUID()
      const fields = {
        url: requireAllowed(readUrl(input.url ?? '')),
        secret: seal(id, input.secret ?? null),
        events: readEvents(input.events ?? []),
        tables: readTables(input.tables ?? []),
        enabled: input.enabled ?? true,
      }
      const row = await database.transaction(async (transaction) => {
        const stored = await queries.insertWebhook(transaction, id, fields)
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'webhooks.create',
          target: id,
          detail: describe(stored),
          origin,
        })
        return stored
      })
      await interests.settled()
      return showWebhook(row)
    },

    get: async (id) => showWebhook(await requireWebhook(database, id)),

    async update(id, input, origin) {
      const changes = {
        // An empty URL or secret means unchanged, as in other implementations of the API: a form that cannot know the
        // secret sends an empty one, and must not end the signatures by it. Null removes it.
        ...(input.url === undefined || input.url === '' ? {} : { url: requireAllowed(readUrl(input.url)) }),
        ...(input.secret === undefined || input.secret === '' ? {} : { secret: seal(id, input.secret) }),
        ...(input.events === undefined ? {} : { events: readEvents(input.events) }),
        ...(input.tables === undefined ? {} : { tables: readTables(input.tables) }),
        ...(input.enabled === undefined ? {} : { enabled: input.enabled }),
      }
      // By their texts: one secret sealed twice differs.
      const isReplaced = (sealed: string | null) =>
        typeof changes.secret === 'string' &&
        sealed !== null &&
        secrets().open(sealed, secretContext(id))?.toString('utf8') !== input.secret
      const row = await database.transaction(async (transaction) => {
        const before = await requireWebhook(transaction, id, queries.lockWebhook)
        const stored = await queries.updateWebhook(
          transaction,
          id,
          { ...before, ...changes },
          { isResumed: changes.enabled === true, isSecretReplaced: isReplaced(before.secret) },
        )
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'webhooks.update',
          target: id,
          detail: { ...describe(stored), changed: Object.keys(changes) },
          origin,
        })
        return stored
      })
      await interests.settled()
      return showWebhook(row)
    },

    async delete(id, origin) {
      await database.transaction(async (transaction) => {
        const url = isUuid(id) ? await queries.deleteWebhook(transaction, id) : undefined
        if (url === undefined) throw webhookErrors.webhookNotFound()
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'webhooks.delete',
          target: id,
          detail: { url },
          origin,
        })
      })
      await interests.refresh()
    },

    async test(id, origin) {
      const { url, secret, previous_secret: previousSecret } = await requireWebhook(database, id)
      await recordAudit(database, { actor: 'admin', action: 'webhooks.test', target: id, origin })
      const message = `Test of webhook ${id}`
      const body = JSON.stringify({ action: 'test', table: '_basalt_test', record: { message } })
      const outcome = await send({ webhookId: id, url, secret, previousSecret, id: randomUUID(), body })
      const { success, statusCode, durationMs, error } = outcome
      return {
        success,
        ...(statusCode === undefined ? {} : { statusCode }),
        durationMs,
        ...(error === undefined ? {} : { error }),
      }
    },

    async listDeliveries(id, page) {
      await requireWebhook(database, id)
      const [rows, total] = await Promise.all([
        queries.listDeliveries(database, id, page),
        queries.countDeliveries(database, id, page.failedOnly),
      ])
      const { perPage } = page
      const totalPages = Math.ceil(total.totalItems / perPage)
      return { items: rows.map(showDelivery), page: page.page, perPage, ...total, totalPages }
    },

    getDelivery: async (id, deliveryId) => showDelivery(await requireDelivery(database, id, deliveryId)),

    async replay(id, deliveryId, origin) {
      const delivery = await requireDelivery(database, id, deliveryId)
      const { url, secret, previous_secret: previousSecret } = await requireWebhook(database, id)
      await recordAudit(database, {
        actor: 'admin',
        action: 'webhooks.replay',
        target: id,
        detail: { deliveryId, eventId: delivery.event_id },
        origin,
      })
      const { event_id: eventId, request_body: body } = delivery
      const message = { webhookId: id, url, secret, previousSecret, id: eventId, body }
      const row = await queries.insertReplay(database, delivery, await send(message))
      // Deleted while the replay was in flight.
      if (row === undefined) throw webhookErrors.webhookNotFound()
      return showDelivery(row)
    },
  }
}

/** For the audit: everything but the secret. */
function describe({ url, secret, events, tables, enabled }: queries.WebhookRow) {
  return { url, hasSecret: secret !== null, events, tables, enabled }
}

function showWebhook(row: queries.WebhookRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    hasSecret: row.secret !== null,
    events: row.events,
    tables: row.tables,
    enabled: row.enabled,
    pausedAt: row.paused_at?.toISOString() ?? null,
    pausedReason: row.paused_reason,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

function showDelivery(row: queries.DeliveryRow): Delivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    eventAction: row.event_action,
    eventTable: row.event_table,
    success: row.success,
    ...(row.status_code === null ? {} : { statusCode: row.status_code }),
    attempt: row.attempt,
    durationMs: row.duration_ms,
    ...(row.error === null ? {} : { error: row.error }),
    requestBody: row.request_body,
    ...(row.response_body === null ? {} : { responseBody: row.response_body }),
    deliveredAt: row.delivered_at.toISOString(),
  }
}
