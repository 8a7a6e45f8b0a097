import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

export interface DismissalRow extends Record<string, unknown> {
  readonly advice_id: string
  readonly reason: string | null
  readonly dismissed_by: string
  readonly dismissed_at: Date
  readonly dismissed_until: Date | null
}

const columns = sql`advice_id, reason, dismissed_by, dismissed_at, dismissed_until`

/** Those that hold now. */
export async function listDismissals(database: Queryable): Promise<readonly DismissalRow[]> {
  return await database.many<DismissalRow>(sql`
    select ${columns} from basalt.advice_dismissals where dismissed_until is null or dismissed_until > now()`)
}

export interface NewDismissal {
  readonly adviceId: string
  readonly rule: string
  readonly object: string
  readonly reason: string | null
  readonly until: Date | null
}

/** The latest one holds. */
export async function putDismissal(
  database: Queryable,
  { adviceId, rule, object, reason, until }: NewDismissal,
): Promise<DismissalRow> {
  return await database.one<DismissalRow>(sql`
    insert into basalt.advice_dismissals (advice_id, rule, object, reason, dismissed_by, dismissed_until)
    values (${adviceId}, ${rule}, ${object}, ${reason}, 'admin', ${until}::timestamptz)
    on conflict (advice_id) do update set reason = excluded.reason, dismissed_by = excluded.dismissed_by,
      dismissed_at = now(), dismissed_until = excluded.dismissed_until
    returning ${columns}`)
}

/** @returns what the advice was about; undefined when it was not dismissed */
export async function deleteDismissal(
  database: Queryable,
  adviceId: string,
): Promise<{ readonly rule: string; readonly object: string } | undefined> {
  return await database.maybeOne(sql`
    delete from basalt.advice_dismissals where advice_id = ${adviceId} returning rule, object`)
}
