import { sql } from '../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../database/system-database.ts'
import type { Feature } from '../../feature.ts'
import { deleteExpired, removeAnonymousUsers } from '../accounts/index.ts'
import { deleteFinishedJobRows, type JobQueue, type JobType } from '../jobs/index.ts'

export interface MaintenanceDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly accessTokenSeconds: number
  /** Days that finished jobs are kept. */
  readonly jobRetentionDays: number
  /** Days after which an anonymous account that nobody linked is removed. */
  readonly anonymousDays: number
}

const auditRetentionDays = 90

interface Retention {
  readonly retention_days?: number
}

/** Housekeeping as jobs, for schedules to name (migration 0007 makes one for each). */
export function maintenance(deps: MaintenanceDeps): Feature {
  const { database, queue, accessTokenSeconds } = deps
  queue.define(
    housekeeping('expired_auth_cleanup', async () => await deleteExpired(database, accessTokenSeconds)),
  )
  queue.define(
    housekeeping('job_retention', async ({ retention_days = deps.jobRetentionDays }) => {
      await deleteFinishedJobRows(database, retention_days)
    }),
  )
  queue.define(
    housekeeping('audit_log_retention', async ({ retention_days = auditRetentionDays }) => {
      await deleteOldAudit(database, retention_days)
    }),
  )
  queue.define(
    housekeeping('anonymous_user_cleanup', async ({ retention_days = deps.anonymousDays }) => {
      await removeAnonymousUsers(database, retention_days)
    }),
  )
  return { name: 'maintenance' }
}

function housekeeping(name: string, handle: (payload: Retention) => Promise<void>): JobType<Retention> {
  return { name, retries: 2, retryDelay: 60, retryDelayMax: 600, timeout: 600, findProblem, handle }
}

function findProblem({ retention_days: days }: Readonly<Record<string, unknown>>): string | undefined {
  if (days === undefined) return undefined
  const isFit = typeof days === 'number' && Number.isInteger(days) && days >= 1 && days <= 36_500
  return isFit ? undefined : 'retention_days must be an integer from 1 to 36500'
}

async function deleteOldAudit(database: Queryable, olderThanDays: number): Promise<number> {
  return await database.count(
    sql`delete from basalt.audit where happened_at < now() - make_interval(days => ${olderThanDays}::int)`,
  )
}
