import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { findUnprivilegedUser, giveTo, type OsUser } from '../../src/database/embedded/os-user.ts'
import { cleanUpAfterKill } from '../clean-up-process.ts'
import { findInstalledPostgres } from '../installed-postgres.ts'
import { makeScratchDirectory } from '../scratch-directory.ts'
import { sendRequest } from '../send-request.ts'
import { findFreePort } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'

/** Programs of the Debian packages patroni, etcd-server and haproxy. */
const programs = { patroni: '/usr/bin/patroni', etcd: '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' }

/** Returns the names of programs that are not installed. */
export function findMissingPrograms(): readonly string[] {
  const missing = Object.entries(programs).flatMap(([name, path]) => (existsSync(path) ? [] : [name]))
  return findInstalledPostgres() === undefined ? [...missing, 'postgresql'] : missing
}

/** Time limit of one change of the cluster: leases have to expire, and servers to start. */
const changeMs = 180_000
/** Seconds after which a leader without a renewed lease is replaced. Patroni's default is 30. */
const leaseSeconds = 20

/** State of one server by Patroni's REST API (`GET /cluster`). */
interface MemberState {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly lag?: number | 'unknown'
}

/** Server of the cluster: PostgreSQL and the Patroni that supervises it. */
export interface Member {
  readonly name: string
  readonly port: number
  /** Port of Patroni's REST API. */
  readonly apiPort: number
}

/** Three PostgreSQL under Patroni, with three etcd and an HAProxy. */
export interface PatroniCluster extends AsyncDisposable {
  readonly members: readonly Member[]
  /** Port of HAProxy, which leads to the primary and ends sessions of a former one. */
  readonly balancerPort: number
  /** Port of HAProxy that keeps the sessions of a former primary. */
  readonly keepingPort: number
  /** Runs SQL on a server, as superuser. */
  sql<Row extends pg.QueryResultRow>(port: number, database: string, text: string): Promise<Row[]>
  /** Waits until one server is the primary, and the others follow it, one of them synchronously. */
  settled(): Promise<Member>
  /** Demotes the primary in order, in favour of the synchronous standby. Resolves with the new primary. */
  switchOver(): Promise<Member>
  /** Kills the PostgreSQL of the primary. Resolves with the new primary. */
  killPostgres(): Promise<Member>
  /** Kills Patroni and PostgreSQL of the primary. Resolves with the new primary. */
  killServer(): Promise<Member>
  /** Kills only the Patroni of the primary, so that its PostgreSQL continues. Resolves with both primaries. */
  killSupervisor(): Promise<{ readonly former: Member; readonly current: Member }>
  /** Starts the Patroni of a server again. */
  startSupervisor(member: Member): void
  /** Kills two of three etcd. */
  loseQuorum(): Promise<void>
  restoreQuorum(): Promise<void>
}

export async function startPatroniCluster(): Promise<PatroniCluster> {
  const binaries = findInstalledPostgres()
  if (binaries === undefined) throw new Error('no PostgreSQL is installed')
  const directory = makeScratchDirectory('basalt-patroni-')
  const release = cleanUpAfterKill({ directory })
  chmodSync(directory, 0o755)
  const user = findUnprivilegedUser(directory)
  const children = new Map<string, ChildProcess>()

  const run = (name: string, program: string, args: readonly string[], as?: OsUser) => {
    const log = openSync(join(directory, `${name}.log`), 'a')
    const child = spawn(program, args, {
      cwd: '/',
      env: { LC_ALL: 'C.UTF-8', TZ: 'UTC', PATH: '/usr/bin:/bin' },
      stdio: ['ignore', log, log],
      ...(as === undefined ? {} : { uid: as.uid, gid: as.gid }),
    })
    if (child.pid !== undefined) child.once('exit', cleanUpAfterKill({ pid: child.pid }))
    children.set(name, child)
  }
  const kill = async (name: string) => {
    const child = children.get(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  const etcd = await startEtcd(directory, run)
  const members: Member[] = []
  for (const name of ['one', 'two', 'three']) {
    members.push({ name, port: await findFreePort(), apiPort: await findFreePort() })
  }
  const dataOf = ({ name }: Member) => join(directory, name, 'postgres')
  for (const member of members) {
    const home = join(directory, member.name)
    mkdirSync(home, { mode: 0o755 })
    giveTo(user, home)
    const config = patroniConfig(member, { etcd: etcd.addresses, home, data: dataOf(member), binaries })
    // JSON is YAML, too.
    writeFileSync(join(directory, `${member.name}.yml`), JSON.stringify(config))
  }
  const startSupervisor = ({ name }: Member) =>
    run(name, programs.patroni, [join(directory, `${name}.yml`)], user)
  const balancer = await startBalancer(directory, members, run)

  const postmasterOf = (member: Member): number | undefined => {
    try {
      const pid = Number(readFileSync(join(dataOf(member), 'postmaster.pid'), 'utf8').split('\n', 1)[0])
      process.kill(pid, 0)
      return pid
    } catch {
      return undefined
    }
  }
  const killPostmaster = async (member: Member, signal: NodeJS.Signals = 'SIGKILL') => {
    const pid = postmasterOf(member)
    if (pid === undefined) return
    process.kill(pid, signal)
    await waitFor('the end of PostgreSQL', () => postmasterOf(member) !== pid, changeMs)
  }
  const readStates = async (): Promise<readonly MemberState[]> => {
    for (const { apiPort } of members) {
      const reply = await sendRequest('GET', `http://127.0.0.1:${apiPort}/cluster`).catch(() => undefined)
      if (reply?.status === 200) return reply.json.members ?? []
    }
    return []
  }
  /** Waits until Patroni names a running primary other than the given one. */
  const promoted = (other?: Member): Promise<Member> =>
    waitFor(
      'a primary',
      async () => {
        const leader = (await readStates()).find(
          ({ role, state }) => role === 'leader' && state === 'running',
        )
        const member = members.find(({ name }) => name === leader?.name)
        if (member === undefined || member === other) return undefined
        const reply = await sendRequest('GET', `http://127.0.0.1:${member.apiPort}/primary`).catch(
          () => undefined,
        )
        return reply?.status === 200 && member
      },
      changeMs,
    )
  const settled = async (): Promise<Member> => {
    await waitFor(
      'three servers, one of them a synchronous standby',
      async () => {
        const states = await readStates()
        const following = states.filter(
          ({ role, state, lag }) =>
            role !== 'leader' && ['running', 'streaming'].includes(state) && lag === 0,
        )
        return following.length === 2 && following.some(({ role }) => role === 'sync_standby')
      },
      changeMs,
    ).catch(async (error) => {
      throw new Error(
        `${error.message}: ${JSON.stringify(await readStates())}\n${readLogs(directory, members)}`,
      )
    })
    return await promoted()
  }
  const sql: PatroniCluster['sql'] = async (port, database, text) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  const cluster: PatroniCluster = {
    members,
    ...balancer,
    sql,
    settled,
    async switchOver() {
      const leader = await settled()
      const reply = await sendRequest('POST', `http://127.0.0.1:${leader.apiPort}/switchover`, {
        body: { leader: leader.name },
      })
      if (reply.status !== 200) throw new Error(`switchover: ${reply.status} ${reply.text}`)
      return await promoted(leader)
    },
    async killPostgres() {
      const leader = await settled()
      await killPostmaster(leader)
      return await promoted(leader)
    },
    async killServer() {
      const leader = await settled()
      await Promise.all([kill(leader.name), killPostmaster(leader)])
      const next = await promoted(leader)
      startSupervisor(leader)
      return next
    },
    async killSupervisor() {
      const former = await settled()
      await kill(former.name)
      return { former, current: await promoted(former) }
    },
    startSupervisor,
    loseQuorum: async () => {
      await Promise.all([kill('etcd-2'), kill('etcd-3')])
    },
    async restoreQuorum() {
      etcd.start(2)
      etcd.start(3)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...children.keys()].map(kill))
      await Promise.all(members.map((member) => killPostmaster(member, 'SIGQUIT')))
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
      release()
    },
  }
  try {
    // The first one initializes the cluster, and the others copy it.
    for (const member of members) startSupervisor(member)
    await settled()
    return cluster
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
}

type Run = (name: string, program: string, args: readonly string[], as?: OsUser) => void

async function startEtcd(directory: string, run: Run) {
  const numbers = [1, 2, 3]
  const ports = await Promise.all(
    numbers.map(async () => [await findFreePort(), await findFreePort()] as const),
  )
  const urlOf = (port: number | undefined) => `http://127.0.0.1:${port}`
  const all = numbers.map((number, index) => `etcd-${number}=${urlOf(ports[index]?.[1])}`).join()
  const start = (number: number) => {
    const name = `etcd-${number}`
    const [client, peer] = (ports[number - 1] ?? []).map(urlOf)
    run(name, programs.etcd, [
      ...['--name', name, '--data-dir', join(directory, name)],
      ...['--listen-client-urls', `${client}`, '--advertise-client-urls', `${client}`],
      ...['--listen-peer-urls', `${peer}`, '--initial-advertise-peer-urls', `${peer}`],
      ...['--initial-cluster', all, '--initial-cluster-state', 'new'],
      // Its defaults are for a machine that does nothing else.
      ...['--heartbeat-interval', '250', '--election-timeout', '2500'],
    ])
  }
  for (const number of numbers) start(number)
  return { addresses: ports.map(([client]) => `127.0.0.1:${client}`), start }
}

interface Places {
  readonly etcd: readonly string[]
  readonly home: string
  readonly data: string
  /** Folder of PostgreSQL's programs. */
  readonly binaries: string
}

function patroniConfig({ name, port, apiPort }: Member, { etcd, home, data, binaries }: Places): object {
  const api = `127.0.0.1:${apiPort}`
  const address = `127.0.0.1:${port}`
  return {
    scope: 'shop',
    name,
    restapi: { listen: api, connect_address: api },
    etcd3: { hosts: etcd },
    bootstrap: {
      dcs: {
        ttl: leaseSeconds,
        loop_wait: 2,
        retry_timeout: 5,
        maximum_lag_on_failover: 1_048_576,
        // A killed primary is replaced, not restarted.
        primary_start_timeout: 0,
        // Without a synchronous standby, the primary confirms no write.
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          // As settings that survive crashes of PostgreSQL, but not of the machine.
          parameters: { fsync: 'off', autovacuum: 'off', wal_keep_size: '256MB', max_connections: 60 },
        },
      },
      initdb: [{ auth: 'trust' }, { encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums', 'no-sync'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: data,
      bin_dir: binaries,
      pgpass: join(home, 'pgpass'),
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'postgres' } },
      parameters: { unix_socket_directories: home },
      pg_hba: [
        'local all all trust',
        'host all all 127.0.0.1/32 trust',
        'host replication all 127.0.0.1/32 trust',
      ],
    },
  }
}

/** Starts HAProxy with the health checks that Patroni's manual recommends, once with and once without the end of sessions. */
async function startBalancer(directory: string, members: readonly Member[], run: Run) {
  const [balancerPort, keepingPort] = [await findFreePort(), await findFreePort()]
  const file = join(directory, 'haproxy.cfg')
  const part = (name: string, port: number, onDown: string) => `
listen ${name}
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 3 rise 2 ${onDown}
${members.map((each) => `  server ${each.name} 127.0.0.1:${each.port} check port ${each.apiPort}`).join('\n')}
`
  writeFileSync(
    file,
    `defaults
  mode tcp
  retries 2
  timeout client 30m
  timeout server 30m
  timeout connect 4s
  timeout check 5s
${part('ending', balancerPort, 'on-marked-down shutdown-sessions')}${part('keeping', keepingPort, '')}`,
  )
  run('haproxy', programs.haproxy, ['-db', '-f', file])
  return { balancerPort, keepingPort }
}

function readLogs(directory: string, members: readonly Member[]): string {
  return members
    .map(({ name }) => `${name}: ${readFileSync(join(directory, `${name}.log`), 'utf8').slice(-3000)}`)
    .join('\n')
}
