import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'

/** Number of earlier deploys that stay for a rollback. */
const keptDeploys = 10

/** Defines the daily job that removes old deploys and unused contents. */
export function defineCleanup(database: SystemDatabase, queue: JobQueue): void {
  queue.define(
    housekeeping('function_deploy_cleanup', async () => {
      await database.count(sql`
        delete from basalt.function_deploys d
        where d.hash not in (select hash from basalt.function_live where hash is not null)
          and (d.promotion is null and d.used_at < now() - interval '1 day'
            or d.hash in (
              select hash from (
                select o.hash, row_number() over (order by o.promotion desc) as position
                from basalt.function_deploys o
                where o.promotion is not null and o.hash not in (select hash from basalt.function_live where hash is not null)
              ) earlier
              where position > ${keptDeploys}::int))`)
      await database.transaction(async (transaction) => {
        // A deploy that is being stored, and may name a content without sending it, holds the lock.
        await transaction.count(
          sql`select pg_advisory_xact_lock(hashtextextended('basalt function blobs', 0))`,
        )
        await transaction.count(sql`
          delete from basalt.function_blobs b
          where b.created_at < now() - interval '1 day'
            and not exists (select from basalt.function_files f where f.sha256 = b.sha256)`)
      })
    }),
  )
}
