import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Dismissal } from './advice.ts'

export interface StoredDismissal extends Dismissal {
  readonly adviceId: string
}

const columns = sql`reason, dismissed_by as by, dismissed_at as at, dismissed_until as until`

/** Lists the dismissals in force. */
export async function listDismissals(database: Queryable): Promise<readonly StoredDismissal[]> {
  return await database.many<StoredDismissal>(sql`
    select advice_id as "adviceId", ${columns} from basalt.advice_dismissals where dismissed_until is null or dismissed_until > now()`)
}

export interface NewDismissal {
  readonly adviceId: string
  readonly rule: string
  readonly object: string
  readonly reason: string | null
  readonly until: Date | null
}

/** Stores a dismissal, replacing an earlier one. */
export async function putDismissal(
  database: Queryable,
  { adviceId, rule, object, reason, until }: NewDismissal,
): Promise<Dismissal> {
  return await database.one<Dismissal>(sql`
    insert into basalt.advice_dismissals (advice_id, rule, object, reason, dismissed_by, dismissed_until)
    values (${adviceId}, ${rule}, ${object}, ${reason}, 'admin', ${until}::timestamptz)
    on conflict (advice_id) do update set reason = excluded.reason, dismissed_by = excluded.dismissed_by,
      dismissed_at = now(), dismissed_until = excluded.dismissed_until
    returning ${columns}`)
}

/** @returns the rule and object of the advice; undefined when it was not dismissed */
export async function deleteDismissal(
  database: Queryable,
  adviceId: string,
): Promise<{ readonly rule: string; readonly object: string } | undefined> {
  return await database.maybeOne(sql`
    delete from basalt.advice_dismissals where advice_id = ${adviceId} returning rule, object`)
}
