import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { type AccountConfig, removeAnonymousUsers } from '../accounts/index.ts'
import { removeStaleEnrollments } from './factors.ts'

export interface CleanUpCounts {
  readonly anonymousUsers: number
  readonly enrollments: number
}

/** Defines the clean-up job, which does nothing unless `auth.clean_up.enabled` is set. */
export function defineUnfinishedHousekeeping(
  database: SystemDatabase,
  queue: JobQueue,
  config: AccountConfig['clean_up'],
): void {
  queue.define(
    housekeeping('unfinished_auth_cleanup', async () => {
      if (config.enabled) await cleanUp(database, config)
    }),
  )
}

/** Removes unlinked anonymous accounts and unfinished enrolments, if the operator has enabled it. */
export async function cleanUp(
  database: SystemDatabase,
  config: AccountConfig['clean_up'],
): Promise<CleanUpCounts> {
  return {
    anonymousUsers: await removeAnonymousUsers(database, config.anonymous_days),
    enrollments: await removeStaleEnrollments(database, config.enrollment_minutes),
  }
}
