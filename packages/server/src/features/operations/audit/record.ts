import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'

/** One thing an administrator did. */
export interface NewAuditEntry {
  /** Who: `admin`, or `command line`. */
  readonly actor: string
  /** What, in the operation's name: `admin.sign_in`. */
  readonly action: string
  /** On what, if it was on something. */
  readonly target?: string
  /** More, without secrets. */
  readonly detail?: Readonly<Record<string, unknown>>
  /** By which request, if by one. */
  readonly origin?: RequestOrigin | undefined
}

/** Writes the entry; call it in the transaction of the act itself. */
export async function recordAudit(
  database: Queryable,
  { actor, action, target, detail = {}, origin }: NewAuditEntry,
): Promise<void> {
  await database.count(sql`
    insert into basalt.audit (actor, action, target, detail, address, request_id)
    values (${actor}, ${action}, ${target ?? null}, ${JSON.stringify(detail)}::jsonb,
      ${origin?.address ?? null}, ${origin?.requestId ?? null})`)
}

/** Records what an administrator did by a request; call it in the transaction of the act itself. */
export async function recordAdminAction(
  database: Queryable,
  action: string,
  target: string,
  origin: RequestOrigin,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await recordAudit(database, { actor: 'admin', action, target, detail, origin })
}
