import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { isEstablished } from '../administrators/administrator.ts'

/** Type of the job that sends mail to administrators. */
export const noticeJob = 'administrator_mail'

/** Payload of a notice to an owner or the administrator that a second factor was removed. */
export interface RemovedFactorNotice {
  readonly administratorId: string
  readonly kind: 'factor_removed'
  /** Address of the administrator whose factor was removed. */
  readonly name: string
}

/** Attempts to send a notice, as many as for other mail to administrators. */
const attempts = 11

/**
 * Notifies the owners, and the administrator, that a second factor was removed. The command line has no queue, so one
 * statement adds the jobs.
 */
export async function mailRemovedFactor(transaction: Queryable, administratorId: string): Promise<void> {
  await transaction.count(sql`
    insert into basalt.jobs (type, payload, max_attempts, run_at)
    select ${noticeJob}, jsonb_build_object('administratorId', a.id, 'kind', 'factor_removed',
      'name', coalesce(removed.email, 'the first administrator')), ${attempts}, now()
    from basalt.administrators a, basalt.administrators removed
    where removed.id = ${administratorId} and a.email is not null and a.disabled_at is null
      and (a.id = removed.id or a.role = 'owner' and ${isEstablished})`)
}
