import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { Outbound } from '../../../http/outbound.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { type Interests, Relay } from '../outbox/index.ts'
import type { WebhooksConfig } from './config.ts'
import { enqueueEvents } from './enqueue.ts'
import type { ChangeHandlers } from './function-receivers.ts'
import { deliveryOperations } from './operations/deliveries.ts'
import { webhookOperations } from './operations/webhooks.ts'
import { pruneWebhooks } from './prune.ts'
import { createSend } from './send.ts'
import { createDeliveryWorker } from './worker.ts'

export { payloadOfLog } from './enqueue.ts'
export { webhookErrorTable } from './errors.ts'
export {
  type ChangeAttempt,
  type ChangeHandlers,
  type FunctionReceiver,
  replaceFunctionReceivers,
} from './function-receivers.ts'
export { pruneWebhooks } from './prune.ts'
export { countWebhookSecretsByKey } from './webhook.ts'

/** Topic of the queue of deliveries. */
export const webhooksTopic = 'webhooks'
/** Milliseconds that attempts in flight have when the server stops. Attempts that are cut off are retried. */
const stopTimeoutMs = 3000

const consumerName = 'webhooks'

/**
 * Version of the queue. It changes in the transaction that queues deliveries, and when a webhook is changed or
 * replayed.
 */
const version = sql`(
  select c.passed || ' ' || c.target_id || ' ' || coalesce(
    (select max(greatest(w.updated_at, w.replayed_at))::text from basalt.webhooks w), '')
  from basalt.event_cursors c where c.consumer = ${consumerName})`

export interface WebhooksDeps {
  readonly config: WebhooksConfig
  readonly database: SystemDatabase
  readonly interests: Interests
  readonly notifications: Notifications
  readonly outbound: Outbound
  /** Returns the functions that handle changes on this node. */
  readonly handlers: () => ChangeHandlers
  /** Box that encrypts secrets, opened only if there is a secret. */
  readonly secrets: () => SecretBox
  readonly queue: JobQueue
  readonly clock: Clock
  readonly log: Logger
}

/** Creates the feature that delivers changes to receivers. */
export function webhooks({
  config,
  database,
  interests,
  notifications,
  outbound,
  handlers,
  secrets,
  queue,
  clock,
  log,
}: WebhooksDeps): Feature {
  const send = createSend({ outbound, secrets, clock })
  const worker = createDeliveryWorker({
    database,
    send,
    handlers,
    clock,
    log,
    concurrency: config.concurrency,
    pauseAfterHours: config.pause_after_hours,
    isLeading: () => notifications.isLeading,
    onPause: () => void interests.refresh().catch(() => undefined),
  })
  const committed = () => {
    worker.wake()
    notifications.announce(webhooksTopic)
  }
  const deps = { database, outbound, secrets, interests, send, onQueued: committed }
  const consumer = { name: consumerName, process: enqueueEvents, committed }
  const relay = config.deliver ? new Relay({ database, consumer, notifications, interests, log }) : undefined
  queue.define(
    housekeeping('webhook_delivery_prune', ({ retention_hours = config.retention_days * 24 }) =>
      pruneWebhooks(database, retention_hours),
    ),
  )
  if (config.deliver) notifications.watch({ topic: webhooksTopic, version, onChange: () => worker.wake() })
  return {
    name: 'webhooks',
    routes: (app) => addOperations(app, deps, [...webhookOperations, ...deliveryOperations]),
    async start() {
      if (relay === undefined) return
      await relay.start()
      handlers().onReady(() => worker.wake())
      worker.start()
    },
    async stop() {
      await relay?.stop()
      await worker.stop(stopTimeoutMs)
    },
  }
}
