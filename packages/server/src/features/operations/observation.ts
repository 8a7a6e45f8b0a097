import type { Logger } from 'pino'
import type { Notifications } from '../../database/notifications/notifications.ts'
import type { Feature } from '../../feature.ts'
import type { RequestLimiter } from '../../http/access/authentication.ts'
import type { RequestObserver } from '../../http/observation/request-observer.ts'
import type { JobQueue } from '../../job-queue.ts'
import { TaskQueue } from '../../lib/task-queue.ts'
import type { Platform } from '../../platform.ts'
import { LogStore, logs } from './logs/index.ts'
import { countJobRuns, type MeasureStorage, Meter, Quotas, usage } from './usage/index.ts'

/** Records of requests, statements and jobs: the log, usage, traces. */
export interface Observation {
  /** Log that writes to the process output and, if configured, to the database. */
  readonly log: Logger
  /** Log that writes only to the database. */
  readonly storedLog: Logger
  readonly observers: readonly RequestObserver[]
  /** Returns the limiter with the plans of apps, if they are enforced. */
  enforcePlans(limiter: RequestLimiter): RequestLimiter
  /** Observes jobs. @returns the same queue, whose runs count as usage */
  observeJobs(queue: JobQueue): JobQueue
  /**
   * Returns the features that start before all others and stop after them, so that they record everything in
   * between.
   */
  features(queue: JobQueue, notifications: Pick<Notifications, 'watch'>): readonly Feature[]
}

/** Opens the observation. @param output the log of the process */
export async function openObservation(
  {
    config,
    database,
    metrics,
    clock,
    version,
    measureStorage,
  }: Pick<Platform, 'config' | 'database' | 'metrics' | 'clock' | 'version'> & {
    /** Measure of stored files. Undefined while nothing stores files. */
    readonly measureStorage: MeasureStorage | undefined
  },
  output: Logger,
): Promise<Observation> {
  const { system, user } = database
  const lane = new TaskQueue()
  const store = new LogStore({
    config,
    database: system,
    lane,
    metrics,
    clock,
    log: output,
    serviceName: config.telemetry.service_name,
  })
  const { log, storedLog, node } = store
  const meter = new Meter({ database: system, lane, clock, log, measureStorage })
  const { plans, enforce } = config.usage
  const quotas = enforce ? new Quotas({ database: system, plans, clock, log }) : undefined
  const telemetry = await openTelemetry()
  return {
    log,
    storedLog,
    observers: [store, meter, ...(quotas === undefined ? [] : [quotas])],
    enforcePlans: (limiter) =>
      quotas === undefined
        ? limiter
        : { admit: async (identity) => (await limiter.admit(identity)) ?? quotas.refuse(identity.appId) },
    observeJobs: (queue) => countJobRuns(queue, meter),
    features(queue, notifications) {
      quotas?.watchWith(notifications)
      return [
        ...(telemetry === undefined ? [] : [telemetry]),
        logs({ config, database: system, store, queue, metrics, clock, log }),
        usage({ config: config.usage, database: system, meter, quotas, queue, clock, log }),
      ]
    },
  }

  /** Loads tracing, only when there is a receiver of traces. */
  async function openTelemetry(): Promise<Feature | undefined> {
    if (config.telemetry.otlp_endpoint === '') return undefined
    const { createTelemetry } = await import('./telemetry/index.ts')
    const { tracer, feature } = createTelemetry({ config: config.telemetry, node, version, metrics, log })
    system.observe(tracer.observeStatements)
    user.observe(tracer.observeStatements)
    return feature
  }
}
