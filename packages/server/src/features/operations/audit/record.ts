import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

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

/** Writes the entry; call it in the transaction of the act itself. */
export async function recordAudit(database: Queryable, entry: AuditEntry): Promise<void> {
  await database.count(sql`
    insert into basalt.audit (actor, action, target, detail, address)
    values (${entry.actor}, ${entry.action}, ${entry.target ?? null}, ${JSON.stringify(entry.detail ?? {})}::jsonb,
      ${entry.address ?? null})`)
}
