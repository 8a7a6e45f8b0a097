import { type Sql, sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Caller } from '../../data/collections/index.ts'

/** Use of the administrator's rights by a call. */
export interface AdminUse {
  /** Name of the function. */
  readonly name: string
  readonly reason: string
  readonly caller: Caller
  /** Address of the administrator who calls, if there is one. */
  readonly administrator: string | undefined
}

/** Records the use of the administrator's rights in the audit log. */
export type RecordAdminUse = (use: AdminUse) => Promise<void>

/** Returns the administrator as whom a function makes statements on behalf of its caller. */
export function administratorFor({ caller, name, reason }: AdminUse): Caller {
  const { isAbandoned, signal, onPosition } = caller
  const origin = caller.origin?.()
  return {
    scope: { kind: 'unrestricted' },
    isAdministrator: true,
    isAbandoned,
    ...(signal === undefined ? {} : { signal }),
    ...(onPosition === undefined ? {} : { onPosition }),
    ...(origin === undefined
      ? {}
      : {
          origin: () => ({
            ...origin,
            actor: 'function as admin',
            userId: userOf(caller),
            detail: { function: name, reason },
          }),
        }),
  }
}

/** Returns the user of a call, also where a statement is made as the administrator. */
export function userOf({ scope, origin }: Caller): string | undefined {
  return (scope.kind === 'caller' ? scope.userId : origin?.().userId) || undefined
}

/**
 * Returns the recorder of uses. The entry is committed before the first statement, because an undone call may have disclosed rows,
 * too.
 */
export function recorderOf(database: Pick<SystemDatabase, 'count'>): RecordAdminUse {
  return async (use) => void (await database.count(entryOf(use)))
}

function entryOf({ name, reason, caller, administrator }: AdminUse): Sql {
  const origin = caller.origin?.()
  return sql`
    insert into basalt.audit (actor, action, target, detail, user_id, api_key_id, app_id, address, request_id, administrator)
    values (${origin?.actor ?? 'anonymous'}, 'functions.as_admin', ${name}, ${JSON.stringify({ reason })}::jsonb,
      ${userOf(caller) ?? null}, ${origin?.keyId || null}, ${origin?.appId || null}::uuid, ${origin?.address || null},
      ${origin?.requestId ?? null}, ${administrator ?? null})`
}
