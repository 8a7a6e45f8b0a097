import pg from 'pg'
import type { Connection } from '../../database/connection/connection.ts'
import { ConnectionLost } from '../../database/errors/failures.ts'
import { loginPassword } from '../../database/logins/login.ts'
import { gatewayRole } from '../../database/logins/roles.ts'
import { sql } from '../../database/sql.ts'
import type { CheckContext } from './check.ts'

/** Session of callers, or the reason why there is none. */
export type GatewayOutcome<Result> = { readonly result: Result } | { readonly reason: string }

/**
 * Runs the work on a connection that logs in as requests of callers do. Unlike a start, it never sets a
 * password. The password of a server without `auth.jwt_secret` is in its memory alone, so the work then runs as
 * the login of `database.url`.
 */
export async function asGateway<Result>(
  { config, database }: Pick<CheckContext, 'config' | 'database'>,
  work: (connection: Connection, login: string) => Promise<Result>,
): Promise<GatewayOutcome<Result>> {
  const { gateway_url } = config.database
  const secret = config.auth.jwt_secret
  const named = async (connection: Connection) => {
    const { rows } = await connection.query<{ login: string }>(sql`select session_user::text as login`)
    return await work(connection, rows[0]?.login ?? '')
  }
  if (gateway_url === '' && secret === '') return { result: await database.use(named) }
  try {
    const login = { user: gatewayRole, password: loginPassword(secret, gatewayRole) }
    const result = await (gateway_url === ''
      ? database.useAs(login, named)
      : database.useUrl(gateway_url, named))
    return { result }
  } catch (error) {
    const cause = error instanceof ConnectionLost ? error.cause : undefined
    if (cause instanceof pg.DatabaseError && /^(28|08P01|42501)/.test(cause.code ?? ''))
      return { reason: cause.message }
    throw error
  }
}
