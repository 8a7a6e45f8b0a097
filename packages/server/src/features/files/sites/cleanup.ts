import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { deleteOldTombstones } from './domains/domain.ts'

export const cleanupJobName = 'site_cleanup'

/** Maximum number of blobs that one statement removes. */
const batchSize = 500

/** Defines the daily job that removes unused deploys, blobs and tombstones. */
export function defineCleanup(database: SystemDatabase, queue: JobQueue, keptDeploys: number): void {
  queue.define(
    housekeeping(cleanupJobName, async () => {
      await deleteOldDeploys(database, keptDeploys)
      await deleteUnusedBlobs(database)
      await deleteOldTombstones(database)
    }),
  )
}

/** Deletes abandoned uploads and failed deploys after a day, and superseded deploys beyond the number to keep. */
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

/** Deletes blobs without files. Blobs locked by an upload are checked again at the next run. */
async function deleteUnusedBlobs(database: SystemDatabase): Promise<void> {
  let after: Buffer = Buffer.alloc(0)
  for (;;) {
    const released = await database.many<{ sha256: Buffer }>(sql`
      select sha256 from basalt.site_released_blobs where sha256 > ${after} order by sha256 limit ${batchSize}`)
    const last = released.at(-1)
    if (last === undefined) return
    const hashes = released.map(({ sha256 }) => sha256)
    await database.count(sql`
      with free as (
        select sha256 from basalt.site_blobs where sha256 = any (${hashes}::bytea[]) for update skip locked
      ),
      dequeued as (
        delete from basalt.site_released_blobs r using free where r.sha256 = free.sha256
      )
      delete from basalt.site_blobs b using free
      where b.sha256 = free.sha256
        and not exists (select from basalt.site_files f where f.sha256 = b.sha256)`)
    after = last.sha256
  }
}
