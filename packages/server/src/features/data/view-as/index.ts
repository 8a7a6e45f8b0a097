import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { Lru } from '../../../lib/lru.ts'
import { recordAudit } from '../../operations/audit/index.ts'

/** Administrator who views rows as a user. */
export interface Viewer {
  readonly sessionId: string
  readonly origin: RequestOrigin
}

export interface View {
  readonly userId: string
  /** Collection names. */
  readonly tables: readonly string[]
  readonly reason?: string | undefined
  readonly viewer: Viewer
}

export type UserScope = Extract<CallerScope, { kind: 'caller' }>

/** Views of rows and events as a user. */
export interface ViewAs {
  /** Returns the scope of a user who has signed in with one factor, as policies see it. */
  findScope(userId: string): Promise<UserScope | undefined>
  /**
   * Records in the audit log that a view starts, before anything is returned. There is one entry for the
   * administrator's session, the user and the table, however many pages follow.
   *
   * @throws AppError admin_required
   */
  record(view: View): Promise<void>
}

/** Maximum number of recorded views that this node remembers. */
const mostKnown = 1000

/** @param action name in the audit log */
export function createViewAs(
  database: SystemDatabase,
  action: 'tables.view_as' | 'realtime.preview',
): ViewAs {
  const known = new Lru<string, true>(mostKnown)
  return {
    findScope: (userId) => findUserScope(database, userId),

    async record({ userId, tables, reason, viewer: { sessionId, origin } }) {
      const key = JSON.stringify([sessionId, userId, ...tables])
      if (known.get(key) === true) return
      await database.transaction(async (transaction) => {
        // The row is locked until the end, because the entries are deleted with the session.
        const held = await transaction.count(
          sql`select from basalt.admin_sessions where id = ${sessionId} for key share`,
        )
        if (held === 0) throw httpErrors.adminRequired()
        const begun = await transaction.many<{ table_name: string }>(sql`
          insert into basalt.views_as (administrator_session, action, user_id, table_name)
          select ${sessionId}, ${action}, ${userId}, name from unnest(${tables}::text[]) name order by name
          on conflict do nothing
          returning table_name`)
        for (const { table_name: target } of begun) {
          const detail = { as: `user ${userId}`, ...(reason === undefined ? {} : { reason }) }
          await recordAudit(transaction, { actor: 'admin', action, target, detail, origin })
        }
      })
      known.set(key, true)
    },
  }
}

/** Returns the scope of a user who has signed in with one factor, as policies see it; undefined for an unknown id. */
export async function findUserScope(database: Queryable, userId: string): Promise<UserScope | undefined> {
  const user = await database.maybeOne<{
    id: string
    email: string
    is_verified: boolean
    is_anonymous: boolean
  }>(sql`
    select id, coalesce(email, '') as email, email_verified_at is not null as is_verified, is_anonymous
    from basalt.users
    where id = ${userId}::uuid`)
  if (user === undefined) return undefined
  return {
    kind: 'caller',
    userId: user.id,
    email: user.email,
    isEmailVerified: user.is_verified,
    aal: 'aal1',
    isAnonymous: user.is_anonymous,
    sessionId: '',
  }
}
