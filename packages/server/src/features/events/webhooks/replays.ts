import { randomUUID } from 'node:crypto'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Outbound } from '../../../http/outbound.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { enqueueAgain, type Replay, type ReplayPosition } from './enqueue.ts'
import { webhookErrors } from './errors.ts'
import { readSecret, readUrl } from './fields.ts'
import * as queries from './queries.ts'
import { requireDelivery, requireWebhook } from './requirements.ts'
import { type Send, secretContext } from './send.ts'

/** What is delivered once more; `limit` at most {@link mostReplayed}. */
export type ReplayRange = Omit<Replay, 'webhookId'>

/** Events of one replay. */
export const mostReplayed = 10_000

export interface ReplayResult {
  /** Events that are in the queue now, or would be. */
  readonly queued: number
  /** Whether there may be more of them. */
  readonly hasMore: boolean
  /** Where the next request continues, if there may be more. */
  readonly last: ReplayPosition | undefined
}

/** How an attempt at another receiver went; it is not in the log of deliveries. */
export interface TrialResult {
  readonly success: boolean
  readonly statusCode?: number
  readonly durationMs: number
  readonly error?: string
  readonly responseBody?: string
}

export interface Trial {
  readonly url?: string | undefined
  /** Signs the attempt; without one it is not signed. */
  readonly secret?: string | undefined
}

export interface WebhookReplays {
  /** Queues what was delivered, has failed or was missed. @throws AppError webhook_not_found, webhook_disabled */
  replayRange(id: string, range: ReplayRange, origin: RequestOrigin): Promise<ReplayResult>
  /** Sends a delivery to another address. @throws AppError webhook_not_found, delivery_not_found, invalid_webhook, webhook_target_refused */
  try(id: string, deliveryId: string, trial: Trial, origin: RequestOrigin): Promise<TrialResult>
}

export interface WebhookReplaysDeps {
  readonly database: SystemDatabase
  readonly outbound: Outbound
  readonly secrets: () => SecretBox
  readonly send: Send
  /** Deliveries were queued. */
  readonly onQueued: () => void
}

export function createWebhookReplays(deps: WebhookReplaysDeps): WebhookReplays {
  const { database, outbound, secrets, send, onQueued } = deps
  return {
    async replayRange(id, range, origin) {
      const { count: queued, last } = await database.transaction(async (transaction) => {
        // Locked, so that of two replays at once the second finds what the first has queued.
        const lock = range.isDryRun ? queries.findWebhook : queries.noteReplay
        const { enabled } = await requireWebhook(transaction, id, lock)
        if (!enabled && !range.isDryRun) throw webhookErrors.webhookDisabled()
        const found = await enqueueAgain(transaction, { ...range, webhookId: id })
        if (range.isDryRun) return found
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'webhooks.replay_range',
          target: id,
          detail: {
            which: range.which,
            since: range.from?.toISOString() ?? null,
            until: range.to?.toISOString() ?? null,
            queued: found.count,
          },
          origin,
        })
        return found
      })
      if (!range.isDryRun) onQueued()
      const hasMore = queued === range.limit
      return { queued, hasMore, last: hasMore ? last : undefined }
    },

    async try(id, deliveryId, trial, origin) {
      const delivery = await requireDelivery(database, id, deliveryId)
      const url = readUrl(trial.url ?? '')
      if (outbound.refuses(url)) throw webhookErrors.webhookTargetRefused()
      const secret = readSecret(trial.secret ?? null)
      await recordAudit(database, {
        actor: 'admin',
        action: 'webhooks.try',
        target: id,
        detail: { deliveryId, eventId: delivery.event_id, url },
        origin,
      })
      // Under an id of its own, as secrets are sealed for one receiver.
      const webhookId = randomUUID()
      const outcome = await send({
        webhookId,
        url,
        secret:
          secret === undefined ? null : secrets().seal(Buffer.from(secret, 'utf8'), secretContext(webhookId)),
        previousSecret: null,
        id: delivery.event_id,
        body: delivery.request_body,
      })
      const { success, statusCode, durationMs, error, responseBody } = outcome
      return {
        success,
        ...(statusCode === undefined ? {} : { statusCode }),
        durationMs,
        ...(error === undefined ? {} : { error }),
        ...(responseBody === undefined ? {} : { responseBody }),
      }
    },
  }
}
