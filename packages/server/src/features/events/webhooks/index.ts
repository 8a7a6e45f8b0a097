import type { Logger } from 'pino'
import type { Config } from '../../../config/schema.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { Outbound } from '../../../http/outbound.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { type Interests, Relay } from '../outbox/index.ts'
import { pruneDeliveries } from './queries.ts'
import { enqueueEvents } from './queue.ts'
import { webhookRoutes } from './routes.ts'
import { createSend } from './send.ts'
import { createWebhookService } from './service.ts'
import { DeliveryWorker } from './worker.ts'

export { webhookErrorTable } from './errors.ts'
export { countWebhookSecretsByKey } from './queries.ts'

const pruneIntervalMs = 60 * 60 * 1000
/** Time that attempts in flight get when the server stops; those cut off are made again. */
const stopTimeoutMs = 3000

export interface WebhooksDeps {
  readonly config: Config['webhooks']
  readonly database: SystemDatabase
  readonly interests: Interests
  readonly outbound: Outbound
  /** Asked for only when there is a secret. */
  readonly secrets: () => SecretBox
  readonly queue: JobQueue
  /** Whether a schedule prunes the log of deliveries; else this node does. */
  readonly isPrunedByJob: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** Tells receivers of changes. */
export function webhooks({
  config,
  database,
  interests,
  outbound,
  secrets,
  queue,
  isPrunedByJob,
  clock,
  log,
}: WebhooksDeps): Feature {
  const send = createSend({ outbound, secrets, clock })
  const service = createWebhookService({ database, outbound, secrets, interests, send })
  const worker = new DeliveryWorker({
    database,
    send,
    clock,
    log,
    concurrency: config.concurrency,
    pauseAfterHours: config.pause_after_hours,
    onPause: () => void interests.refresh().catch(() => undefined),
  })
  const consumer = { name: 'webhooks', take: enqueueEvents, taken: () => worker.wake() }
  const relay = new Relay(database, consumer, log)
  const retentionHours = config.retention_days * 24
  queue.define(
    housekeeping('webhook_delivery_prune', async ({ retention_hours = retentionHours }) => {
      await pruneDeliveries(database, retention_hours)
    }),
  )
  let pruning: NodeJS.Timeout | undefined
  return {
    name: 'webhooks',
    routes: (app) => webhookRoutes(app, service),
    async start() {
      if (!isPrunedByJob) {
        pruning = setInterval(() => {
          pruneDeliveries(database, retentionHours).catch((error) =>
            log.warn({ reason: messageOf(error) }, 'failed to prune the log of webhook deliveries'),
          )
        }, pruneIntervalMs).unref()
      }
      if (!config.deliver) return
      await relay.start()
      worker.start()
    },
    async stop() {
      clearInterval(pruning)
      await relay.stop()
      await worker.stop(stopTimeoutMs)
    },
  }
}
