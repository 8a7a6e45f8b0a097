import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Connection } from '../../../database/connection/connection.ts'
import {
  branchUrl,
  describeHost,
  describeUrl,
  loginOf,
  parseDatabaseUrl,
  withLogin,
} from '../../../database/database-url.ts'
import { ConnectionLost } from '../../../database/errors/failures.ts'
import { loginPassword } from '../../../database/logins/login.ts'
import { administratorRole, gatewayRole } from '../../../database/logins/roles.ts'
import { type LogPosition, parseLogPosition } from '../../../database/replicas/log-position.ts'
import {
  findMismatch,
  findReplicaState,
  type MismatchKind,
  type PrimaryRow,
  type PrimaryState,
  primaryState,
  readPrimaryState,
} from '../../../database/replicas/replica-probe.ts'
import { sql } from '../../../database/sql.ts'
import { explainContext, tryContext } from '../caller-trial.ts'
import { type Check, type CheckContext, type Finding, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'
import { reasonOf } from '../exchange.ts'
import { isReadyCommand } from './hosts.ts'

/** Longest time for which the check waits for a replica to replay the position of the primary. */
const longestWaitMs = 8000
const pollMs = 20

/** Check of the servers in `database.replica_urls`: each is a standby that can serve reads. */
export const replicas: Check = {
  id: 'replicas',
  timeoutMs: longestWaitMs + 10_000,
  async run(context) {
    const { replica_urls, branch } = context.config.database
    if (replica_urls.length === 0) throw new CheckSkipped('database.replica_urls is empty')
    const primary = await context.database.use(readPrimary)
    const refused = await findRefusedLogins(context)
    const findings = replica_urls.map((url) =>
      examineReplica(context, { url, address: describeUrl(branchUrl(url, branch)), primary, refused }),
    )
    return (await Promise.all(findings)).flat()
  },
}

interface Subject {
  readonly url: string
  readonly address: string
  readonly primary: PrimaryState
  /** Logins of requests that the primary rejects, too. Requests then log in as the owner on both. */
  readonly refused: ReadonlySet<string>
}

async function readPrimary(connection: Connection): Promise<PrimaryState> {
  const { rows } = await connection.query<PrimaryRow>(primaryState)
  const [found] = rows
  if (found === undefined) throw new Error('the query returned no row')
  return readPrimaryState(found)
}

async function examineReplica(context: CheckContext, subject: Subject): Promise<readonly Finding[]> {
  const { url, address } = subject
  try {
    const examined = await context.database.useUrl(url, (connection) =>
      examineServer(connection, context, subject),
    )
    if ('finding' in examined) return [examined.finding]
    const rejected = await findRejectedLogins(context, subject)
    const unusable = new Set([...subject.refused, ...rejected.map(({ role }) => role)])
    const problems = [
      ...rejected.map(({ role, reason }) => rejection(address, role, reason)),
      ...(await describeContext(context, subject, unusable)),
    ]
    if (problems.length > 0) return problems
    return [ok('replicas', `${address} ${examined.lag}, and the context of a caller is in force there`)]
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
    const {
      user,
      hosts: [host],
    } = parseDatabaseUrl(url)
    if (error.cause instanceof pg.DatabaseError) return [rejection(address, user, error.cause.message)]
    return [
      warning(
        'replicas.unreachable',
        `${address} cannot be reached (${reasonOf(error.cause)}): the primary serves its reads`,
        isReadyCommand(describeHost(host)),
      ),
    ]
  }
}

/** Remedies for a server that is no replica of the primary. */
const remedies: Readonly<Record<MismatchKind, string>> = {
  system: 'replica_urls = ["postgresql://…"]   # in [database]: hot standbys of database.url only',
  database: 'replica_urls = ["postgresql://…"]   # in [database]: each with the database of database.url',
  standby:
    "pg_rewind --write-recovery-conf --target-pgdata=… --source-server='host=…'   # on it, stopped: a standby of the primary again",
  timeline: "alter system set recovery_target_timeline = 'latest';  -- on the replica, then restart it",
  collation:
    'replica_urls = []   # in [database], until its operating system has the libc and ICU of the primary',
}

async function examineServer(
  connection: Connection,
  { config }: CheckContext,
  { address, primary }: Subject,
): Promise<{ readonly finding: Finding } | { readonly lag: string }> {
  const mismatch = findMismatch(await findReplicaState(connection), primary)
  if (mismatch !== undefined) {
    const message = `${address} serves no reads: ${mismatch.reason}`
    return { finding: warning('replicas.identity', message, remedies[mismatch.kind]) }
  }
  const maxLagMs = config.database.replica_max_lag_ms
  const { replay, waitedMs } = await waitForReplay(connection, primary.flushed, maxLagMs)
  if (replay.isPaused) {
    const message = `${address} has paused its replay: its data becomes older and older`
    return { finding: warning('replicas.lag', message, 'select pg_wal_replay_resume();  -- on the replica') }
  }
  const isCurrent = replay.position >= primary.flushed
  if (isCurrent) return { lag: `has replayed the log of the primary within ${Math.ceil(waitedMs)} ms` }
  const behind = `${primary.flushed - replay.position} bytes of the log and more than ${Math.floor(waitedMs / 1000)} s behind`
  // The wait was shorter than the limit, so the data may be young enough.
  if (waitedMs < maxLagMs && replay.isReceiving) return { lag: `is ${behind}` }
  return {
    finding: warning(
      'replicas.lag',
      `${address} is ${behind}${replay.isReceiving ? '' : ', and receives no log'}: reads go to the primary above ${maxLagMs} ms`,
      replay.isReceiving
        ? 'select * from pg_stat_replication;  -- on the primary: where the log waits; then recovery_min_apply_delay on the replica'
        : "select * from pg_settings where name = 'primary_conninfo';  -- on the replica, then its log and pg_hba.conf of the primary",
    ),
  }
}

interface Replay {
  readonly position: LogPosition
  readonly isPaused: boolean
  /** True if it is connected to the primary. */
  readonly isReceiving: boolean
}

/** Waits until the server has replayed the position, for as long as its data may be old. */
async function waitForReplay(
  connection: Connection,
  position: LogPosition,
  maxLagMs: number,
): Promise<{ readonly replay: Replay; readonly waitedMs: number }> {
  const began = performance.now()
  for (;;) {
    const replay = await readReplay(connection)
    const waitedMs = performance.now() - began
    const isOver = waitedMs >= Math.min(maxLagMs, longestWaitMs)
    if (replay.isPaused || replay.position >= position || isOver) return { replay, waitedMs }
    await delay(pollMs)
  }
}

async function readReplay(connection: Connection): Promise<Replay> {
  const { rows } = await connection.query<Omit<Replay, 'position'> & { replayed: string | null }>(sql`
    select pg_last_wal_replay_lsn()::text as replayed, pg_is_wal_replay_paused() as "isPaused",
      exists (select from pg_stat_wal_receiver) as "isReceiving"`)
  const [found] = rows
  if (found === undefined) throw new Error('the query returned no row')
  return { ...found, position: parseLogPosition(found.replayed ?? '') ?? 0n }
}

/** Way in which requests log in at a server. */
interface RequestUrl {
  readonly role: string
  readonly url: string
}

/** Returns the URLs by which requests log in at a server. The password of a server without a secret is unknown. */
function requestUrls({ config }: CheckContext, url: string): readonly RequestUrl[] {
  const { gateway_url } = config.database
  const secret = config.auth.jwt_secret
  const derived = (role: string) => ({
    role,
    url: withLogin(url, { user: role, password: loginPassword(secret, role) }),
  })
  const callers =
    gateway_url === ''
      ? derived(gatewayRole)
      : { role: gatewayRole, url: withLogin(url, loginOf(gateway_url)) }
  if (secret === '') return gateway_url === '' ? [] : [callers]
  return [callers, derived(administratorRole)]
}

async function findRefusedLogins(context: CheckContext): Promise<ReadonlySet<string>> {
  const { url, gateway_url } = context.config.database
  const tried = requestUrls(context, url).map(async ({ role, url }) => {
    const isConfigured = role === gatewayRole && gateway_url !== ''
    return { role, refusal: await findRefusal(context, { role, url: isConfigured ? gateway_url : url }) }
  })
  const refused = (await Promise.all(tried)).filter(({ refusal }) => refusal !== undefined)
  return new Set(refused.map(({ role }) => role))
}

async function findRefusal(
  { database }: CheckContext,
  { role, url }: RequestUrl,
): Promise<string | undefined> {
  try {
    return await database.useUrl(url, async (connection) => {
      const { rows } = await connection.query<{ login: string }>(sql`select session_user::text as login`)
      const login = rows[0]?.login
      return login === role ? undefined : `a connection as ${role} works as ${login}`
    })
  } catch (error) {
    const cause = error instanceof ConnectionLost ? error.cause : undefined
    if (cause instanceof pg.DatabaseError) return cause.message
    throw error
  }
}

/** Finds the logins of requests that the replica rejects and the primary accepts. */
async function findRejectedLogins(
  context: CheckContext,
  { url, refused }: Subject,
): Promise<readonly { readonly role: string; readonly reason: string }[]> {
  const tried = requestUrls(context, url)
    .filter(({ role }) => !refused.has(role))
    .map(async (login) => ({ role: login.role, reason: await findRefusal(context, login) }))
  return (await Promise.all(tried)).flatMap(({ role, reason }) =>
    reason === undefined ? [] : [{ role, reason }],
  )
}

function rejection(address: string, role: string, reason: string): Finding {
  return warning(
    'replicas.login',
    `${address} serves no reads: it rejects ${role} (${reason})`,
    `host all ${role} samenet scram-sha-256   # in its pg_hba.conf, then select pg_reload_conf();`,
  )
}

/** Describes the fault if the context of a caller is not in force on the replica. */
async function describeContext(
  context: CheckContext,
  { url, address }: Subject,
  unusable: ReadonlySet<string>,
): Promise<readonly Finding[]> {
  const login = requestUrls(context, url).find(({ role }) => role === gatewayRole && !unusable.has(role))
  const seen = await context.database.useUrl(login?.url ?? url, (connection) =>
    tryContext(connection, login?.role ?? loginOf(url).user, []),
  )
  const fault = explainContext(seen)
  if (fault === undefined) return []
  return [failure('replicas.context', `${address} serves no reads: ${fault.message}`, fault.fix)]
}
