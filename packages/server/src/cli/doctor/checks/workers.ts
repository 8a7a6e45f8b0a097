import { CallerContexts } from '../../../database/caller/caller-context.ts'
import type { Connection } from '../../../database/connection/connection.ts'
import { describeHost } from '../../../database/database-url.ts'
import { proveContexts } from '../../../database/distributed/prove-context.ts'
import { loginPassword } from '../../../database/logins/login.ts'
import { administratorRole } from '../../../database/logins/roles.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { OperatorError } from '../../../lib/errors.ts'
import { type Check, type CheckContext, type Finding, failure, ok } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'
import { asGateway } from '../gateway.ts'
import { isReadyCommand } from './hosts.ts'

/** Check of the workers of a database with Citus: each can be reached, and the context of callers is in force there. */
export const workers: Check = {
  id: 'workers',
  async run(context) {
    const found = await context.database.readPrepared(findWorkers)
    if (found.length === 0) throw new CheckSkipped('the database has no workers')
    const unreachable = found.filter(({ isReachable }) => !isReachable)
    if (unreachable.length > 0) return unreachable.map(({ host, port }) => describeLost({ host, port }))
    return [await describeContexts(context, found)]
  },
}

interface WorkerNode {
  readonly host: string
  readonly port: number
  /** True if it stores rows. */
  readonly hasShards: boolean
  /** True if the coordinator can connect to it. */
  readonly isReachable: boolean
}

/** Lists the active nodes other than the coordinator. */
async function findWorkers(transaction: Queryable): Promise<readonly WorkerNode[]> {
  const { is_distributed } = await transaction.one<{ is_distributed: boolean }>(
    sql`select exists (select from pg_extension where extname = 'citus') as is_distributed`,
  )
  if (!is_distributed) return []
  return await transaction.many<WorkerNode & Record<string, unknown>>(sql`
    select nodename as host, nodeport as port, shouldhaveshards as "hasShards",
      citus_check_connection_to_node(nodename, nodeport) as "isReachable"
    from pg_dist_node
    where noderole = 'primary' and isactive and groupid <> (select groupid from pg_dist_local_group)
    order by nodeid`)
}

function describeLost(address: { readonly host: string; readonly port: number }): Finding {
  const name = describeHost(address)
  return failure(
    'workers',
    `the coordinator cannot connect to the worker ${name}: statements on its rows fail`,
    isReadyCommand(name),
  )
}

async function describeContexts(context: CheckContext, nodes: readonly WorkerNode[]): Promise<Finding> {
  const contexts = new CallerContexts({ dialect: 'literals', transactionSettings: {}, workerSettings: {} })
  const names = nodes.map(describeHost).join(', ')
  const count = nodes.filter(({ hasShards }) => hasShards).length
  try {
    const outcome = await asGateway(context, (callers) =>
      asAdministrator(context, (administrators) =>
        proveContexts(
          {
            callers: { open: twinsOf(callers, context), contexts },
            administrators: { open: twinsOf(administrators, context), contexts },
          },
          count,
        ),
      ),
    )
    if ('reason' in outcome) {
      throw new CheckSkipped(
        `the login of requests is refused (${outcome.reason}): the check policies has more`,
      )
    }
    return ok('workers', `the context of callers is in force on ${names}`)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return failure('workers', error.message, remedyOf(error.message))
  }
}

function remedyOf(reason: string): string | null {
  if (/workers returned rows/.test(reason)) {
    return 'basalt reload   # gives every worker rows for this proof'
  }
  return /cannot reach the workers/.test(reason)
    ? 'hostssl all basalt_authenticated,basalt_anonymous,basalt_administrator COORDINATOR/32 trust   # in pg_hba.conf of each worker, as in the guide'
    : null
}

/** Returns the opening of further connections with the same login. They break when the time of the check is over. */
function twinsOf(connection: Connection, { signal }: CheckContext): () => Promise<Connection> {
  return async () => {
    const twin = await connection.openTwin()
    signal.addEventListener('abort', () => twin.destroy(), { once: true })
    return twin
  }
}

/** Runs the work as requests of administrators do. Without a secret, their password is unknown. */
async function asAdministrator<Result>(
  { config, database }: CheckContext,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const secret = config.auth.jwt_secret
  if (secret === '') return await database.use(work)
  const login = { user: administratorRole, password: loginPassword(secret, administratorRole) }
  return await database.useAs(login, work)
}
