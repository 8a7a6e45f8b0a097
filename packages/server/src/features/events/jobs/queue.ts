import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue, JobType } from '../../../job-queue.ts'
import { JobCountMerger } from './counts.ts'
import { deployHeads } from './deploys.ts'
import { deleteSqlJobTypes, insertJob, insertSqlJobTypes, replaceSqlJobTypes } from './job.ts'
import { createJobWorker } from './worker.ts'

const topic = 'jobs'

/**
 * Version of the queue: the first queued job of each type, and of each type of a deploy. A job that becomes the first changes
 * the version. A later job is found when a slot gets free.
 */
const version = sql`(
  with recursive head as (
    (
      select type, run_at, id from basalt.jobs where state = 'queued' order by type, run_at, id limit 1
    )
    union all
    select next.* from head
    cross join lateral (
      select j.type, j.run_at, j.id from basalt.jobs j where j.state = 'queued' and j.type > head.type
      order by j.type, j.run_at, j.id limit 1
    ) next
  ),
  ${deployHeads}
  select string_agg(run_at || ' ' || id, ' ') from (
    select run_at, id from head union all select run_at, id from deploy_head
  ) heads)`

export interface JobQueueOptions {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch' | 'announce' | 'isLeading'>
  /** True if this node works on jobs, false if it only adds them. */
  readonly isWorking: boolean
  /** Maximum number of jobs of one type in flight on this node. */
  readonly concurrency: number
  /** Seconds that running jobs have to finish when the server stops. */
  readonly stopTimeout: number
  readonly log: Logger
}

/** Creates the queue of jobs in the database, which all nodes share. */
export function createJobQueue(options: JobQueueOptions): JobQueue {
  const { database, notifications, isWorking, concurrency, stopTimeout, log } = options
  const types = new Map<string, JobType<object>>()
  /** Types of an earlier deploy of functions that no current type has the name of. */
  let earlier: ReadonlyMap<string, JobType<object>> = new Map()
  /** Names of the types that functions define. */
  const ofFunctions = new Set<string>()
  /** Names of such types that were removed, until SQL may no longer add them. */
  const gone = new Set<string>()
  const merger = new JobCountMerger(database)
  const isLeading = () => notifications.isLeading
  const worker = isWorking
    ? createJobWorker({ database, types: () => [types, earlier], concurrency, merger, isLeading, log })
    : undefined
  if (worker !== undefined) notifications.watch({ topic, version, onChange: () => worker.wake() })

  const typesOpenToSql = () => Array.from(types.values()).filter(({ isOpenToSql }) => isOpenToSql)

  function wake(): void {
    worker?.wake()
    notifications.announce(topic)
  }

  return {
    define(type) {
      // The feature that defines the type made the payload, or the payload passed its `findProblem`.
      types.set(type.name, type as JobType<object>)
    },

    async replaceFunctionTypes(defined, lock, previous = []) {
      for (const name of ofFunctions) {
        types.delete(name)
        gone.add(name)
      }
      ofFunctions.clear()
      for (const type of defined) {
        types.set(type.name, type)
        ofFunctions.add(type.name)
        gone.delete(type.name)
      }
      earlier = new Map(previous.map((type) => [type.name, type]))
      worker?.wake()
      const open = typesOpenToSql()
      if (lock !== undefined) await replaceSqlJobTypes(database, open, lock)
      else {
        await insertSqlJobTypes(database, open)
        if (gone.size > 0) await deleteSqlJobTypes(database, [...gone])
      }
      gone.clear()
    },

    isReserved: (name) => types.has(name) && !ofFunctions.has(name),
    findType: (name) => types.get(name),
    listTypes: () => [...types.keys()],

    async enqueue(name, payload, transaction, { maxAttempts, runAt, delaySeconds, scheduleId } = {}) {
      const type = types.get(name)
      if (type === undefined) throw new Error(`no job type ${name}`)
      const id = await insertJob(transaction ?? database, {
        type: name,
        payload,
        maxAttempts: maxAttempts ?? type.retry.attempts,
        runAt,
        delaySeconds,
        scheduleId,
        deploy: type.deploy,
      })
      merger.note()
      if (transaction === undefined) wake()
      return id
    },

    wake,

    async start() {
      await insertSqlJobTypes(database, typesOpenToSql())
      worker?.start()
    },
    stop: async () => worker?.stop(stopTimeout * 1000),
  }
}
