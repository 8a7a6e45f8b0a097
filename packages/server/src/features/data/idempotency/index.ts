import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { deleteExpiredKeys } from './queries.ts'

export { idempotencyErrorTable } from './errors.ts'
export { type IdempotencyKey, idempotencyKeyOf, withBody } from './key.ts'
export { idempotencyHeaders } from './schemas.ts'
export { createWritesOnce, type KeySteps, type WritesOnce } from './writes-once.ts'
export { createWritesWithoutKey } from './writes-without-key.ts'

/** Defines the job that removes expired keys. */
export function defineKeyCleanup(database: SystemDatabase, queue: JobQueue): void {
  queue.define(housekeeping('idempotency_key_cleanup', () => deleteExpiredKeys(database)))
}
