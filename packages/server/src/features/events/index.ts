import { allowsPrivateTargets } from '../../config/development.ts'
import type { Queryable } from '../../database/system-database.ts'
import type { RequestLimiter } from '../../http/access/authentication.ts'
import type { CallerLimiter } from '../../http/access/caller-limiter.ts'
import type { TokenVerifier } from '../../http/access/identity.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import type { Embedders } from '../data/embedding-provider/index.ts'
import { automaticEmbeddings } from './embeddings/index.ts'
import { createJobQueue, jobs } from './jobs/index.ts'
import { defineOperatorJobs, type OperatorSecrets } from './operator-jobs/index.ts'
import { describeCapture, EventTriggers, events, Interests, OutboxChangeLog } from './outbox/index.ts'
import { type OpenPopup, realtime } from './realtime/index.ts'
import { schedules } from './schedules/index.ts'
import { timeline } from './timeline/index.ts'
import {
  type ChangeHandlers,
  type FunctionReceiver,
  replaceFunctionReceivers,
  webhooks,
  webhooksTopic,
} from './webhooks/index.ts'

/** Creates the queue that every area adds jobs to. The jobs feature works on it and is wired with the others. */
export function openJobQueue({
  config,
  database,
  notifications,
  log,
}: Pick<Platform, 'config' | 'database' | 'notifications' | 'log'>) {
  return createJobQueue({
    database: database.system,
    notifications,
    isWorking: config.jobs.enabled,
    concurrency: config.jobs.concurrency,
    stopTimeout: config.server.shutdown_timeout,
    log,
  })
}

export interface EventsPorts {
  /** Verifiers of the tokens that may open streams. */
  readonly verifiers: readonly TokenVerifier[]
  readonly limiter: RequestLimiter
  /** Limiter of users and addresses; undefined without limits. */
  readonly callerLimiter?: CallerLimiter | undefined
  /** Resolver for the host names of webhooks; for tests. */
  readonly resolve?: Resolve | undefined
  readonly embedders: Embedders
  /** Secrets that scheduled requests send. */
  readonly operatorSecrets: OperatorSecrets
  readonly openPopup?: OpenPopup | undefined
  /** Returns the functions that handle changes on this node. */
  readonly changeHandlers: () => ChangeHandlers
}

/** Wires the features that follow a change or the clock: the log of changes, streams, webhooks, jobs, schedules. */
export function wireEvents(
  platform: Platform,
  {
    verifiers,
    limiter,
    callerLimiter,
    resolve,
    embedders,
    operatorSecrets,
    openPopup,
    changeHandlers,
  }: EventsPorts,
) {
  const { config, database, catalog, notifications, clock, log, queue, metrics, origins, secrets, version } =
    platform
  const { isDevelopment } = platform
  const { system } = database
  const interests = new Interests(notifications)
  const triggers = new EventTriggers({
    database: system,
    live: catalog,
    notifications,
    interests,
    isEnabled: config.events.capture === 'on',
    log,
  })
  const outbound = createOutbound({
    allowsPrivate: () => allowsPrivateTargets(config),
    ...(resolve === undefined ? {} : { resolve }),
  })
  const streams = realtime({
    config: config.realtime,
    database,
    catalog,
    interests,
    triggers,
    queue,
    notifications,
    verifiers,
    limiter,
    callerLimiter,
    isAuthRequired: config.auth.enabled,
    isDevelopment,
    origins,
    metrics,
    version,
    clock,
    log,
    openPopup,
    messageLimitBytes: config.server.body_limit,
  })
  defineOperatorJobs({ queue, database, outbound, secrets: operatorSecrets })
  return {
    graphqlStreams: streams.graphqlStreams,
    broadcasts: streams.broadcasts,
    changes: new OutboxChangeLog(interests, triggers, notifications),
    /** Replaces the functions that handle changes. Every node logs these changes when it resolves. */
    async replaceReceivers(
      receivers: readonly FunctionReceiver[],
      lock: (transaction: Queryable) => Promise<boolean>,
    ): Promise<void> {
      if (!(await replaceFunctionReceivers(system, receivers, lock))) return
      notifications.announce(webhooksTopic)
      await interests.settled()
    },
    /** Lists the state of event capture for each collection with a listener. */
    listCaptured: () =>
      describeCapture(system, catalog.current, {
        isEnabled: triggers.isEnabled,
        failures: triggers.obstacles,
      }),
    features: [
      events({
        database: system,
        retentionHours: config.events.retention_hours,
        queue,
        isWorking: config.jobs.enabled,
        triggers,
        log,
      }),
      timeline(system, config.realtime.sent_retention_hours),
      streams,
    ],
    /** Features that start after all others, because those define jobs, and stop before them. */
    workers: [
      automaticEmbeddings({
        settings: config.embeddings,
        embedders,
        database,
        catalog,
        interests,
        notifications,
        queue,
        isWorking: config.jobs.enabled,
        log,
      }),
      webhooks({
        config: config.webhooks,
        database: system,
        interests,
        notifications,
        outbound,
        handlers: changeHandlers,
        secrets,
        queue,
        clock,
        log,
      }),
      jobs({
        queue,
        database: system,
        isEnabled: config.jobs.enabled,
        retentionDays: config.jobs.retention_days,
      }),
      schedules({ database: system, queue, notifications, isEnabled: config.jobs.enabled, log }),
    ],
  }
}
