import pg from 'pg'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import type { ContextDialect } from '../caller/caller-context.ts'
import { Connection, type ConnectionTarget } from '../connection/connection.ts'
import { type EngineProbe, requireTransactions, type TransactionMode } from '../connection/probe.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'
import { statementsFor } from './ensure-logins.ts'
import { type Login, LoginRefused } from './login.ts'
import { administratorRole, gatewayRole } from './roles.ts'

/** Login for the statements of requests. */
export interface RequestLogin {
  /** Opens a connection. @throws ConnectionLost */
  readonly open: () => Promise<Connection>
  /** Settings of each transaction; empty where the connections have them. */
  readonly transactionSettings: Readonly<Record<string, string>>
  readonly isPooled: boolean
  /** True if the connections keep prepared statements. */
  readonly prepares: boolean
  readonly transactions: TransactionMode
  /** True if the login has no role of its own and works as the owner. */
  readonly isOwner: boolean
}

/** Logins of requests: one for callers, and one for requests without policies. */
export interface RequestLogins {
  readonly callers: RequestLogin
  readonly administrators: RequestLogin
}

export interface LoginOptions {
  /** Target without settings, which a pooler accepts. */
  readonly bare: ConnectionTarget
  readonly engine: EngineProbe
  readonly dialect: ContextDialect
  readonly sessionSettings: Readonly<Record<string, string>>
  /** Settings that `alter role … set` gives to sessions of the owner. */
  readonly roleSettings: Readonly<Record<string, string>>
  /** `database.gateway_url`; empty where the role's password is derived from the secret. */
  readonly gatewayUrl: string
  readonly createLogin: (role: string) => Login
  readonly warn: (message: string, detail: object) => void
}

/**
 * Tries the logins of requests, and warns about those that have to work as the owner.
 *
 * @throws ConnectionLost
 */
export async function openRequestLogins(options: LoginOptions): Promise<RequestLogins> {
  const { engine, warn, gatewayUrl } = options
  const owner = ownerLogin(options)
  const login = engine.loginRole
  const gateway = options.createLogin(gatewayRole)
  const callers =
    gatewayUrl === ''
      ? await tryLogin(options, options.bare, gatewayRole, (target) => gateway.open(target))
      : await tryLogin(options, { ...options.bare, url: gatewayUrl }, gatewayRole, openConfigured)
  if ('reason' in callers) {
    if (gatewayUrl !== '') throw new OperatorError(`database.gateway_url does not serve: ${callers.reason}`)
    warn(
      `requests log in as ${login}: text that reaches "execute" in a function of the database does what ${login} may do`,
      explainRefusal(callers.reason, gateway, engine.isPooled),
    )
  }
  const administrator = options.createLogin(administratorRole)
  const administrators = await tryLogin(options, options.bare, administratorRole, (target) =>
    administrator.open(target),
  )
  if ('reason' in administrators) {
    warn(
      `the data API of administrators logs in as ${login}`,
      explainRefusal(administrators.reason, administrator, engine.isPooled),
    )
  }
  return {
    callers: 'reason' in callers ? owner : callers,
    administrators: 'reason' in administrators ? owner : administrators,
  }
}

/**
 * Returns the remedy for a rejected role: a statement, or a line for a pooler's list of users where PostgreSQL
 * knows the role.
 */
function explainRefusal(reason: string, login: Login, isPooled: boolean): object {
  const { role, verifier, isSet } = login
  return isPooled && isSet
    ? { reason, pooler: `add to its auth_file, and start again: "${role}" "${verifier}"` }
    : { reason, run: statementsFor(role, verifier) }
}

async function openConfigured(target: ConnectionTarget): Promise<Connection> {
  try {
    return await Connection.open(target)
  } catch (error) {
    throw error instanceof ConnectionLost && error.cause instanceof pg.DatabaseError
      ? new LoginRefused(error.message, { cause: error.cause })
      : error
  }
}

function ownerLogin(options: LoginOptions): RequestLogin {
  const { bare, engine } = options
  const open = (target: ConnectionTarget) => Connection.open(target)
  const { isPooled, transactions } = engine
  return loginOf(options, { open, bare, isPooled, transactions, isOwner: true })
}

type Open = (target: ConnectionTarget) => Promise<Connection>

/** Returns a working login, or the reason of its failure. */
async function tryLogin(
  options: LoginOptions,
  bare: ConnectionTarget,
  role: string,
  open: Open,
): Promise<RequestLogin | { readonly reason: string }> {
  try {
    const connection = await open(bare)
    try {
      const { rows } = await connection.query<{ login: string; pid: number }>(
        sql`select session_user::text as login, pg_backend_pid() as pid`,
      )
      const [found] = rows
      if (found?.login !== role) return { reason: `a connection as ${role} works as ${found?.login}` }
      const transactions = await requireTransactions(connection)
      const isPooled = found.pid !== connection.backendPid || transactions === 'block'
      return loginOf(options, { open, bare, isPooled, transactions, isOwner: false })
    } finally {
      await connection.close()
    }
  } catch (error) {
    if (error instanceof LoginRefused) return { reason: messageOf(error.cause) }
    throw error
  }
}

function loginOf(
  { dialect, sessionSettings, roleSettings }: LoginOptions,
  {
    open,
    bare,
    isPooled,
    transactions,
    isOwner,
  }: Pick<RequestLogin, 'isPooled' | 'transactions' | 'isOwner'> & { open: Open; bare: ConnectionTarget },
): RequestLogin {
  const settings = isOwner ? sessionSettings : { ...roleSettings, ...sessionSettings }
  // A plan of a distributed table is made for the shards of its values.
  const prepares = !isPooled && dialect === 'parameters'
  const target = isPooled ? bare : { ...bare, settings, prepare: prepares }
  return {
    open: () => open(target),
    transactionSettings: isPooled ? settings : {},
    isPooled,
    prepares,
    transactions: dialect === 'literals' ? 'block' : transactions,
    isOwner,
  }
}
