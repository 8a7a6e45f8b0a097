import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { deleteExpired, deleteExpiredSessions, removeAnonymousUsers } from '../../identity/accounts/index.ts'
import { deleteFinishedJobRows, type JobQueue, type JobType } from '../../events/jobs/index.ts'
import { pruneDeliveries } from '../../events/webhooks/index.ts'

export interface MaintenanceDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  /** Days that finished jobs are kept. */
  readonly jobRetentionDays: number
  /** Days that the log of webhook deliveries is kept. */
  readonly deliveryRetentionDays: number
  /** Days after which an anonymous account that nobody linked is removed. */
  readonly anonymousDays: number
}

const auditRetentionDays = 90

interface Retention {
  readonly retention_days?: number
  readonly retention_hours?: number
}

/** Housekeeping as jobs, for schedules to name (migrations 0007 and 0012 make one for each). */
export function maintenance(deps: MaintenanceDeps): Feature {
  const { database, queue } = deps
  queue.define(housekeeping('expired_auth_cleanup', async () => await deleteExpired(database)))
  queue.define(housekeeping('stale_session_cleanup', async () => await deleteExpiredSessions(database)))
  queue.define({
    ...housekeeping('webhook_delivery_prune', async (payload) => {
      const { retention_hours = deps.deliveryRetentionDays * 24 } = payload
      await pruneDeliveries(database, retention_hours)
    }),
    findProblem: ({ retention_hours }) => findProblem('retention_hours', retention_hours, 36_500 * 24),
  })
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
  return {
    name,
    retries: 2,
    retryDelay: 60,
    retryDelayMax: 600,
    timeout: 600,
    findProblem: ({ retention_days }) => findProblem('retention_days', retention_days, 36_500),
    handle,
  }
}

function findProblem(name: string, value: unknown, most: number): string | undefined {
  if (value === undefined) return undefined
  const isFit = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most
  return isFit ? undefined : `${name} must be an integer from 1 to ${most}`
}

async function deleteOldAudit(database: Queryable, olderThanDays: number): Promise<number> {
  return await database.count(
    sql`delete from basalt.audit where happened_at < now() - make_interval(days => ${olderThanDays}::int)`,
  )
}
