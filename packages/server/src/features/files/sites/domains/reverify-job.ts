import type { SystemDatabase } from '../../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../../job-queue.ts'
import { listVerified, recordCheck } from './domain.ts'
import { type ResolveTxt, verify } from './verification.ts'

const batchSize = 20
const nilUuid = '00000000-0000-0000-0000-000000000000'

/** Defines the daily check of verified domains, which notices a change of owner. */
export function defineReverification(
  database: SystemDatabase,
  queue: JobQueue,
  resolveTxt: ResolveTxt,
): void {
  queue.define(
    housekeeping('site_domain_reverify', async () => {
      let after = nilUuid
      for (;;) {
        const domains = await listVerified(database, after, batchSize)
        const last = domains.at(-1)
        if (last === undefined) return
        after = last.id
        await Promise.all(
          domains.map(async ({ id, verification }) => {
            await recordCheck(database, id, await verify(resolveTxt, verification), true)
          }),
        )
      }
    }),
  )
}
