import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'

/** Action of an administrator, for the audit log. */
export interface NewAuditEntry {
  /** Actor: `admin`, or `command line`. */
  readonly actor: string
  /** Name of the action: `admin.sign_in`. */
  readonly action: string
  /** Object of the action, if there is one. */
  readonly target?: string
  /** Details, without secrets. */
  readonly detail?: Readonly<Record<string, unknown>>
  /** Request that caused the action, if there is one. */
  readonly origin?: RequestOrigin | undefined
}

/** Writes an entry. It must run in the transaction of the action. */
export async function recordAudit(
  database: Queryable,
  { actor, action, target, detail = {}, origin }: NewAuditEntry,
): Promise<void> {
  await database.count(sql`
    insert into basalt.audit (actor, action, target, detail, address, request_id, administrator)
    values (${actor}, ${action}, ${target ?? null}, ${JSON.stringify(detail)}::jsonb,
      ${origin?.address ?? null}, ${origin?.requestId ?? null}, ${origin?.administrator ?? null})`)
}

/** Records an administrator's action by a request. It must run in the transaction of the action. */
export async function recordAdminAction(
  database: Queryable,
  action: string,
  target: string,
  origin: RequestOrigin,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await recordAudit(database, { actor: 'admin', action, target, detail, origin })
}
