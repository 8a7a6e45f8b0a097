import type { Connection } from '../connection/connection.ts'
import { findDead } from '../connection/half-open.ts'
import { Pool, type PoolOptions } from '../pool/pool.ts'
import type { Primary } from '../primary/primary.ts'
import { SessionGuard } from '../session/guard.ts'
import type { RequestLogin } from './request-logins.ts'

export interface RequestPoolOptions extends Omit<PoolOptions, 'open' | 'findDead' | 'cancel'> {
  /** Cancels the statement of a session whose process id is known. */
  readonly cancel: (connection: Connection) => Promise<void>
  /** Knowledge about the primary, which a connection must lead to; undefined for those of a replica. */
  readonly primary?: Primary | undefined
}

/** Creates the pool of connections that use the login, and the guard of their sessions. */
export function openRequestPool(login: RequestLogin, { cancel, primary, ...options }: RequestPoolOptions) {
  const sessions = new SessionGuard(login)
  const open = async () => await sessions.admit(await login.open(), primary)
  const pool = new Pool({
    ...options,
    open,
    findDead: (silent) => findDead(silent, open, !login.isPooled),
    async cancel(connection) {
      // A pooler invents the process id, which could be that of any client. The statement timeout ends the
      // work.
      if (!login.isPooled) await cancel(connection)
    },
  })
  return { ...login, pool, sessions }
}
