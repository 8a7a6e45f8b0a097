import { type Db, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue, JobType } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import { ensureIndexes, queueSchema } from './job-rows.ts'
import { JobWorker } from './worker.ts'

/** After so long the library takes a job from a worker that is lost, should no worker of ours have done so. */
const libraryLeaseSeconds = 300
/** The id of no job. */
const nobody = '00000000-0000-0000-0000-000000000000'

export interface JobQueueOptions {
  readonly database: SystemDatabase
  /** Whether this node works on jobs, or only adds them. */
  readonly isWorking: boolean
  /** Jobs of one kind at once on this node. */
  readonly concurrency: number
  /** Days that finished jobs are kept. */
  readonly retentionDays: number
  /** Seconds that running jobs may take when the server stops. */
  readonly stopTimeout: number
  readonly log: Logger
}

/** A queue in the database, shared by all nodes: pg-boss, behind the few things we ask of it. */
export function createJobQueue(options: JobQueueOptions): JobQueue {
  const { database, isWorking, concurrency, retentionDays, stopTimeout, log } = options
  const types = new Map<string, JobType<object>>()
  let worker: JobWorker | undefined
  const boss = new PgBoss({
    db: executorOf(database),
    schema: queueSchema,
    supervise: isWorking,
    schedule: false,
    // For jobs that take longer than their type may; leases that have run out are the worker's to notice.
    monitorIntervalSeconds: 15,
    superviseIntervalSeconds: 15,
    reindex: false,
    monitorVacuum: false,
  })
  boss.on('error', (error: unknown) => log.warn({ reason: messageOf(error) }, 'job queue'))

  return {
    define(type) {
      // A payload was made by the feature that defines the type, or passed its `findProblem`.
      types.set(type.name, type as JobType<object>)
    },

    findType: (name) => types.get(name),
    listTypes: () => [...types.keys()],

    async enqueue(name, payload, transaction, { maxAttempts, runAt, scheduleId } = {}) {
      const id = await boss.send(name, payload, {
        ...(transaction === undefined ? {} : { db: executorOf(transaction) }),
        ...(maxAttempts === undefined ? {} : { retryLimit: maxAttempts - 1 }),
        ...(runAt === undefined ? {} : { startAfter: runAt }),
        ...(scheduleId === undefined ? {} : { group: { id: scheduleId } }),
      })
      if (id === null) throw new Error(`job ${name} was not accepted`)
      if (transaction === undefined) worker?.wake()
      return id
    },

    wake: () => worker?.wake(),

    async start() {
      await boss.start()
      await database.transaction(ensureIndexes)
      for (const { name, ...type } of types.values()) {
        const queue = {
          retryLimit: type.retries,
          retryDelay: type.retryDelay,
          retryDelayMax: type.retryDelayMax,
          retryBackoff: true,
          expireInSeconds: type.timeout,
          heartbeatSeconds: libraryLeaseSeconds,
          deleteAfterSeconds: retentionDays * 24 * 3600,
        }
        await boss.createQueue(name, queue)
        await boss.updateQueue(name, queue)
        // The library reads a queue before its first job. In a transaction it would do so on a second connection, and
        // transactions that fill the pool would wait for each other.
        await boss.getJobById(name, nobody)
      }
      if (!isWorking) return
      worker = new JobWorker({ boss, database, types: [...types.values()], concurrency, log })
      worker.start()
    },

    async stop() {
      await worker?.stop(stopTimeout * 1000)
      await boss.stop({ graceful: false, close: false })
    },
  }
}

/** Runs the library's statements as ours. */
function executorOf(database: Queryable): Db {
  return {
    executeSql: (text: string, values: unknown[] = []) => database.execute({ text, values }),
  }
}
