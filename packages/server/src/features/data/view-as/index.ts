import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { FindUserScope } from '../collections/index.ts'

/** Finds what policies see of a user, so that an administrator can read rows in the place of one. */
export function createUserScopes(database: Queryable): FindUserScope {
  return async (userId) => {
    const user = await database.maybeOne<{ email: string; is_verified: boolean; is_anonymous: boolean }>(sql`
      select coalesce(email, '') as email, email_verified_at is not null as is_verified, is_anonymous
      from basalt.users
      where id = ${userId}::uuid`)
    if (user === undefined) return undefined
    return {
      kind: 'caller',
      userId,
      email: user.email,
      isEmailVerified: user.is_verified,
      aal: 'aal1',
      isAnonymous: user.is_anonymous,
      sessionId: '',
    }
  }
}
