import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'

/** One thing an administrator did. */
export interface AuditEntry {
  /** Who: `admin`, or `command line`. */
  readonly actor: string
  /** What, in the operation's name: `admin.sign_in`. */
  readonly action: string
  /** On what, if it was on something. */
  readonly target?: string
  /** More, without secrets. */
  readonly detail?: Readonly<Record<string, unknown>>
  /** Address of the client. */
  readonly address?: string
}

/** Writes the entry; call it in the transaction of what it records. */
export async function recordAudit(database: Queryable, entry: AuditEntry): Promise<void> {
  await database.count(sql`
    insert into basalt.audit (actor, action, target, detail, address)
    values (${entry.actor}, ${entry.action}, ${entry.target ?? null}, ${JSON.stringify(entry.detail ?? {})}::jsonb,
      ${entry.address ?? null})`)
}

/** Days that entries are kept, unless the schedule says otherwise. */
const retentionDays = 90

/** The record of what administrators did. */
export function audit(database: SystemDatabase, queue: JobQueue): Feature {
  queue.define(
    housekeeping('audit_log_retention', async ({ retention_days = retentionDays }) => {
      await database.count(sql`
        delete from basalt.audit where happened_at < now() - make_interval(days => ${retention_days}::int)`)
    }),
  )
  return { name: 'audit' }
}
