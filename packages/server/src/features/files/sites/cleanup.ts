import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'

export const cleanupJobName = 'site_cleanup'

/** Removes what no site needs any more. */
export function defineCleanup(database: SystemDatabase, queue: JobQueue, keptDeploys: number): void {
  queue.define(
    housekeeping(cleanupJobName, async () => {
      await deleteOldDeploys(database, keptDeploys)
      await deleteUnusedBlobs(database)
    }),
  )
}

/** Uploads that were abandoned and failed ones after a day; superseded ones when enough later ones are left. */
async function deleteOldDeploys(database: SystemDatabase, keptDeploys: number): Promise<void> {
  await database.count(sql`
    delete from basalt.site_deploys d
    where d.status in ('uploading', 'failed') and d.updated_at < now() - interval '1 day'
      or d.status = 'superseded' and d.id in (
        select id from (
          select o.id, row_number() over (partition by o.site_id order by o.updated_at desc, o.id) as position
          from basalt.site_deploys o where o.status = 'superseded'
        ) old
        where position > ${keptDeploys}::int
      )`)
}

/** A blob comes with the first file that has it, in one transaction: one without files is of no use. */
async function deleteUnusedBlobs(database: SystemDatabase): Promise<void> {
  await database.count(sql`
    delete from basalt.site_blobs b
    where not exists (select from basalt.site_files f where f.sha256 = b.sha256)`)
}
