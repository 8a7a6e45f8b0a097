import type { Config } from '../../../config/schema.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { removeAnonymousUsers } from '../accounts/index.ts'
import { removeStaleEnrollments } from './factors.ts'

export interface CleanedUp {
  readonly anonymousUsers: number
  readonly enrollments: number
}

/** What the operator has to ask for: anonymous accounts and unfinished enrolments. */
export async function cleanUp(
  database: SystemDatabase,
  config: Config['auth']['clean_up'],
): Promise<CleanedUp> {
  return {
    anonymousUsers: await removeAnonymousUsers(database, config.anonymous_days),
    enrollments: await removeStaleEnrollments(database, config.enrollment_minutes),
  }
}
