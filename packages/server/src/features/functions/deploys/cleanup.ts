import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'

/** Number of earlier deploys that stay for a rollback. */
const keptDeploys = 10
/** Number of further deploys that stay for their waiting jobs, and maximum age of such a job in days. */
const keptForJobs = 10
const keptForJobsDays = 30

/** Defines the daily job that removes old deploys and unused contents. */
export function defineCleanup(database: SystemDatabase, queue: JobQueue): void {
  queue.define(
    housekeeping('function_deploy_cleanup', async () => {
      await database.count(sql`
        with old as materialized (
          select d.hash, d.used_at from basalt.function_deploys d
          where d.hash not in (select hash from basalt.function_live where hash is not null)
            and (d.promotion is null and d.used_at < now() - interval '1 day'
              or d.hash in (
                select hash from (
                  select o.hash, row_number() over (order by o.promotion desc) as position
                  from basalt.function_deploys o
                  where o.promotion is not null and o.hash not in (select hash from basalt.function_live where hash is not null)
                ) earlier
                where position > ${keptDeploys}::int))
        )
        delete from basalt.function_deploys where hash in (
          select hash from old
          except
          (select o.hash from old o
            where exists (
              select from basalt.jobs j where j.deploy = o.hash and j.state = 'queued'
                and j.created_at > now() - make_interval(days => ${keptForJobsDays}::int)
            ) or exists (select from basalt.jobs j where j.deploy = o.hash and j.state = 'running')
            order by o.used_at desc, o.hash limit ${keptForJobs}::int))`)
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
