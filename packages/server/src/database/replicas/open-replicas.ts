import { OperatorError } from '../../lib/errors.ts'
import type { ContextOptions } from '../caller/caller-context.ts'
import type { DatabaseConfig } from '../config.ts'
import { Connection, type ConnectionTarget } from '../connection/connection.ts'
import { requireTransactions } from '../connection/probe.ts'
import { branchUrl, describeUrl, loginOf, withLogin } from '../database-url.ts'
import {
  type LoginOptions,
  openRequestLogins,
  type RequestLogin,
  type RequestLogins,
} from '../logins/request-logins.ts'
import { openRequestPool, type RequestPoolOptions } from '../logins/request-pool.ts'
import { SharedConnections } from '../pool/shared-connections.ts'
import { type Sql, sql } from '../sql.ts'
import type { SystemDatabase } from '../system-database.ts'
import { UserDatabase } from '../user-database.ts'
import { Guards } from './guards.ts'
import { ReadReplicas } from './read-replicas.ts'
import { Replica, type ReplicaAccess, ReplicaUnfit } from './replica.ts'
import { type PrimaryRow, primaryState, readPrimaryState } from './replica-probe.ts'

/** Options that all replicas share. */
interface AccessOptions {
  /** Options of the primary's logins. */
  readonly logins: LoginOptions
  /** Logins of the primary, with which those of the replica must agree. */
  readonly primary: RequestLogins
  /** Context of callers, as on the primary. */
  readonly context: Pick<ContextOptions, 'dialect' | 'workerSettings'>
  /** Options of each replica's pools. */
  readonly pool: Omit<RequestPoolOptions, 'cancel' | 'shared' | 'cores' | 'primary'>
  /** Returns the processors of a server, where they are known. */
  readonly coresOf: (url: string) => number | undefined
}

export interface OpenReplicasOptions extends AccessOptions {
  readonly system: SystemDatabase
}

/** Creates the replicas of the configuration; undefined without any. Nothing is opened before {@link ReadReplicas.start}. */
export function openReplicas(
  { replica_urls, replica_wait_ms, replica_max_lag_ms, branch }: DatabaseConfig,
  { system, ...options }: OpenReplicasOptions,
): ReadReplicas | undefined {
  if (replica_urls.length === 0) return undefined
  if (options.logins.engine.isDistributed) {
    throw new OperatorError('database.replica_urls: replicas of a database with Citus are not supported')
  }
  const guards = new Guards()
  const replicas = replica_urls.map((url) => createReplica(branchUrl(url, branch), options, guards))
  return new ReadReplicas({
    replicas,
    guards,
    readPrimary: async () => readPrimaryState(await system.one<PrimaryRow>(primaryState)),
    waitMs: replica_wait_ms,
    maxLagMs: replica_max_lag_ms,
  })
}

function createReplica(url: string, options: AccessOptions, guards: Guards): Replica {
  // Sessions on the replica are neither those of the primary, nor do they have to lead to it.
  const { sessions: _sessions, primary: _primary, ...target } = options.logins.bare
  const bare: ConnectionTarget = { ...target, url }
  return new Replica({
    address: describeUrl(url),
    openChecks: () => Connection.open(bare),
    openAccess: () =>
      openAccess(bare, options, guards).catch((error) => {
        throw error instanceof OperatorError ? new ReplicaUnfit(error.message) : error
      }),
  })
}

/** Opens the logins of requests on the replica. They prove the context of callers, as those of the primary have. */
async function openAccess(
  bare: ConnectionTarget,
  { logins: common, primary, context, pool, coresOf }: AccessOptions,
  guards: Guards,
): Promise<ReplicaAccess> {
  const refusals: string[] = []
  const options: LoginOptions = {
    ...common,
    bare,
    engine: { ...common.engine, ...(await probeSessions(bare)) },
    gatewayUrl: common.gatewayUrl === '' ? '' : withLogin(bare.url ?? '', loginOf(common.gatewayUrl)),
    warn: (message, detail) => {
      refusals.push('reason' in detail ? String(detail.reason) : message)
    },
  }
  const logins = await openRequestLogins(options)
  for (const kind of ['callers', 'administrators'] as const) {
    if (logins[kind].isOwner !== primary[kind].isOwner) {
      throw new ReplicaUnfit(`the login of ${kind} fails: ${refusals.join('; ')}`)
    }
  }
  const shared = new SharedConnections(pool.size)
  const poolOptions = { ...pool, cores: coresOf(bare.url ?? ''), shared, cancel: cancelByTwin }
  const openPool = (login: RequestLogin) => ({ ...openRequestPool(login, poolOptions), ...context })
  const callers = openPool(logins.callers)
  const administrators = logins.administrators === logins.callers ? callers : openPool(logins.administrators)
  const ways = [...new Set([callers, administrators])]
  for (const { sessions } of ways) guards.add(sessions)
  return {
    // A standby accepts no grants.
    user: new UserDatabase({
      callers,
      administrators,
      repairGrants: async () => false,
      grantCallerRoles: async () => false,
    }),
    openFor: ({ kind }) => (kind === 'unrestricted' ? logins.administrators : logins.callers).open(),
    async cancel(connection) {
      const { isPooled } = logins.callers
      if (!isPooled) await cancelByTwin(connection)
    },
    disconnect() {
      for (const each of ways) each.pool.disconnect()
    },
    async close() {
      await Promise.all(ways.map((each) => each.pool.close()))
    },
  }
}

/** Probes whether a pooler is in front of the replica, and how statements form a transaction there. */
async function probeSessions(bare: ConnectionTarget) {
  const connection = await Connection.open(bare)
  try {
    const { rows } = await connection.query<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    const transactions = await requireTransactions(connection)
    return { transactions, isPooled: rows[0]?.pid !== connection.backendPid || transactions === 'block' }
  } finally {
    await connection.close()
  }
}

/** Cancels the statement as the session's own role, on the server of the session. Never rejects. */
async function cancelByTwin(connection: Connection): Promise<void> {
  try {
    const twin = await connection.openTwin()
    await twin.query(cancelStatement(connection.backendPid)).finally(() => twin.close())
  } catch {
    // The statement ends by its timeout.
  }
}

function cancelStatement(pid: number): Sql {
  return sql`select pg_cancel_backend(${pid}::int)`
}
