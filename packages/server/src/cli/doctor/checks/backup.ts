import { isDevelopment } from '../../../config/development.ts'
import { readLastBackup } from '../../../database/embedded/last-backup.ts'
import { sql } from '../../../database/sql.ts'
import { type Check, type CheckContext, type Finding, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

/** Age of the newest backup from which a warning is given. */
const warningHours = 48

/** Check of the newest backup, as far as the database records it. */
export const backup: Check = {
  id: 'backup',
  async run(context) {
    const { config } = context
    if (isDevelopment(config)) throw new CheckSkipped('in development, backups are not expected')
    return [config.database.url === '' ? await describeEmbedded(context) : await describeArchive(context)]
  },
}

const fix = 'basalt backup "basalt-$(date +%F).tar.gz"   # daily, from cron or a systemd timer'

async function describeEmbedded({ database }: CheckContext): Promise<Finding> {
  const last = await database.readPrepared(readLastBackup)
  if (last === undefined) return warning('backup', 'no backup has been recorded', fix)
  const age = `the newest backup is ${describeHours(last.ageHours)} old`
  return last.ageHours > warningHours ? warning('backup', age, fix) : ok('backup', age)
}

/** Describes the archive of the log, which PostgreSQL itself reports; it does not record base backups. */
async function describeArchive({ database }: CheckContext): Promise<Finding> {
  const { mode, age_hours, failed_wal } = await database.read((transaction) =>
    transaction.one<{ mode: string; age_hours: number | null; failed_wal: string | null }>(sql`
      select current_setting('archive_mode') as mode,
        extract(epoch from clock_timestamp() - last_archived_time)::float8 / 3600 as age_hours,
        case when last_failed_time > coalesce(last_archived_time, '-infinity') then last_failed_wal end as failed_wal
      from pg_stat_archiver`),
  )
  if (mode === 'off') {
    throw new CheckSkipped(
      'PostgreSQL does not record backups, and archive_mode is off: check those of its own tools',
    )
  }
  if (failed_wal !== null) {
    return failure(
      'backup',
      `the archive command fails on ${failed_wal}, so a restore would lose what follows`,
      'select * from pg_stat_archiver;  -- and the log of PostgreSQL',
    )
  }
  if (age_hours === null) throw new CheckSkipped('nothing has been archived yet')
  return ok('backup', `the log was last archived ${describeHours(age_hours)} ago`)
}

function describeHours(hours: number): string {
  if (hours < 1) return `${Math.round(hours * 60)} minutes`
  return hours < 48 ? `${Math.round(hours)} hours` : `${Math.floor(hours / 24)} days`
}
