import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createClusterTemplate } from '../packages/server/test/cluster-template.ts'
import { type Standby, startStandby } from '../packages/server/test/standby.ts'
import { startThrowAwayCluster } from '../packages/server/test/throw-away-cluster.ts'
import { waitFor } from '../packages/server/test/wait-for.ts'
import { type BenchRequest, cases, ownerId, seedScript } from './cases.ts'
import { ownMicros, treeMicros } from './processor-time.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Compares servers without and with read replicas: processor time a request of the server, the primary and the replicas,
 * and the share of reads on replicas. All databases run on this machine, so processor time shows what moves off the primary;
 * rates would not. Rounds alternate between the servers, and the others are suspended meanwhile.
 */
const { values: options } = parseArgs({
  options: {
    replicas: { type: 'string', default: '0,1,2' },
    connections: { type: 'string', default: '16' },
    requests: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '5' },
  },
})

interface Candidate {
  readonly replicas: number
  readonly directory: string
  readonly server: Server
  readonly token: string
}

/** Kind of request, as all servers get it. */
interface Kind {
  readonly name: string
  readonly request: (n: number) => BenchRequest
  readonly headers: Readonly<Record<string, string>>
}

interface Round {
  /** Microseconds of processor time a request. */
  readonly server: number
  readonly primary: number
  readonly standbys: number
  /** Part of the reads that replicas have served; NaN without any. */
  readonly share: number
}

const eventual = { 'X-Read-Consistency': 'eventual' }
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }

using template = await createClusterTemplate()
await using primary = await startThrowAwayCluster({ max_connections: '200' }, template.directory)
await using standbys = new AsyncDisposableStack()
const copies: Standby[] = []
const candidates: Candidate[] = []
try {
  const counts = options.replicas.split(',').map(Number)
  await primary.sql('postgres', 'create database app')
  for (let count = 0; count < Math.max(...counts); count += 1) {
    copies.push(standbys.use(await startStandby(primary, { settings: { max_connections: '200' } })))
  }
  for (const count of counts) candidates.push(await open(count))

  const known = await write(candidates[0])
  await waitFor('the replicas to catch up', async () =>
    (await Promise.all(copies.map((each) => each.hasCaughtUp()))).every(Boolean),
  )
  await compare({ name: 'one row, eventual', request: requestOf('one row'), headers: eventual })
  await compare({
    name: 'list of 20, eventual',
    request: requestOf('list of 20, no total'),
    headers: eventual,
  })
  const atPosition = { 'X-Basalt-Position': known }
  await compare({ name: 'one row, with a position', request: requestOf('one row'), headers: atPosition })
  await compare({ name: 'create', request: requestOf('create'), headers: {} })
  for (const candidate of candidates) await readOwnWrites(candidate)

  for (const copy of copies) await copy.pause()
  const later = { 'X-Basalt-Position': await write(candidates[0]) }
  await compare({ name: 'one row, replicas behind', request: requestOf('one row'), headers: later })
  for (const copy of copies) await copy.resume()
} finally {
  suspendAllBut(undefined)
  for (const { server, directory } of candidates) {
    const ended = new Promise((resolve) => server.process.once('exit', resolve))
    server.process.kill('SIGTERM')
    await ended
    rmSync(directory, { recursive: true, force: true })
  }
}

async function open(replicas: number): Promise<Candidate> {
  const directory = createDirectory()
  const urls = copies.slice(0, replicas).map(({ url }) => `${url}/app`)
  const env = {
    ...secret,
    BASALT_DATABASE_URL: `${primary.url}/app`,
    // The tables are created by the superuser, and bench_project has no policies.
    BASALT_DATABASE_REQUIRE_RLS: 'false',
    ...(urls.length === 0 ? {} : { BASALT_DATABASE_REPLICA_URLS: urls.join(',') }),
  }
  const server = await startServer(directory, env)
  if (candidates.length === 0) await primary.sql('app', seedScript)
  const caller = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...caller], env)).trim()
  const candidate = { replicas, directory, server, token }
  if (replicas > 0) {
    await waitFor('the replicas to serve reads', async () => {
      await request(candidate, requestOf('one row')(0), eventual)
      return (await countReads(server)).standbys > 0
    })
  }
  return candidate
}

function requestOf(wanted: string): Kind['request'] {
  const found = cases.find(({ name }) => name === wanted)
  if (found === undefined) throw new Error(`there is no case "${wanted}"`)
  return found.request
}

async function request(
  { server, token }: Candidate,
  { method, path, body }: BenchRequest,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: body ?? null,
  })
  const text = await response.text()
  // The tables may be newer than the catalog of the server.
  if (!response.ok && response.status !== 404) throw new Error(`${path}: ${response.status} ${text}`)
  return { status: response.status, headers: response.headers, text }
}

/** Creates a row and returns the position of the log after it. A server without replicas returns none. */
async function write(candidate: Candidate | undefined): Promise<string> {
  const withReplicas = candidates.find(({ replicas }) => replicas > 0) ?? candidate
  if (withReplicas === undefined) throw new Error('no server')
  const response = await request(withReplicas, requestOf('create')(0))
  return response.headers.get('x-basalt-position') ?? '0/0'
}

async function compare(kind: Kind): Promise<void> {
  const rounds = new Map<number, Round[]>()
  // The first round is to compile code and to open connections.
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const candidate of candidates) {
      suspendAllBut(candidate)
      const result = await measure(candidate, kind)
      const { replicas } = candidate
      if (round > 0) rounds.set(replicas, [...(rounds.get(replicas) ?? []), result])
    }
  }
  suspendAllBut(undefined)
  const base = rounds.get(candidates[0]?.replicas ?? 0) ?? []
  for (const { replicas } of candidates) {
    const found = rounds.get(replicas) ?? []
    const micros = (value: (round: Round) => number) => median(found.map(value)).toFixed(0).padStart(4)
    // Rounds are compared one by one, as other processes slow down some of them.
    const ratio = (value: (round: Round) => number) =>
      median(found.map((round, index) => value(round) / value(base[index] ?? round))).toFixed(2)
    const share = median(found.map((each) => each.share))
    process.stdout.write(
      `${kind.name.padEnd(24)} ${replicas} replicas  ` +
        `server ${micros(({ server }) => server)} µs (${ratio(({ server }) => server)})  ` +
        `primary ${micros((round) => round.primary)} µs (${ratio((round) => round.primary)})  ` +
        `replicas ${micros((round) => round.standbys)} µs  ` +
        `total (${ratio((round) => round.server + round.primary + round.standbys)})` +
        `${Number.isNaN(share) ? '' : `  ${(share * 100).toFixed(0)} % of reads on replicas`}\n`,
    )
  }
}

async function measure({ server, token }: Candidate, kind: Kind): Promise<Round> {
  const target = new URL(server.url)
  const render = (n: number) => renderRequest(target, token, { ...kind.request(n), headers: kind.headers })
  const before = { times: readTimes(server), reads: await countReads(server) }
  const total = Number(options.requests)
  let sent = 0
  const connections = Array.from({ length: Number(options.connections) }, () => {
    const connection = new RawConnection(target)
    return new Promise<void>((resolve) => {
      const send = () => {
        if (sent < total) return connection.send(render(sent++), send)
        connection.close()
        resolve()
      }
      send()
    })
  })
  await Promise.all(connections)
  const times = readTimes(server)
  const reads = await countReads(server)
  const onStandbys = reads.standbys - before.reads.standbys
  return {
    server: (times.server - before.times.server) / total,
    primary: (times.primary - before.times.primary) / total,
    standbys: (times.standbys - before.times.standbys) / total,
    share: onStandbys / (onStandbys + reads.primary - before.reads.primary),
  }
}

/** Suspends the servers that are not measured, because each queries the databases at intervals. */
function suspendAllBut(candidate: Candidate | undefined): void {
  for (const each of candidates) {
    each.server.process.kill(candidate === undefined || each === candidate ? 'SIGCONT' : 'SIGSTOP')
  }
}

function readTimes({ process: { pid = 0 } }: Server) {
  return {
    // Without its children: in a clone, one of them builds the dashboard.
    server: ownMicros(pid),
    primary: treeMicros(primary.pid ?? 0),
    standbys: copies.reduce((sum, copy) => sum + treeMicros(copy.pid ?? 0), 0),
  }
}

/** Returns the reads so far by server. Without replicas they are not counted. */
async function countReads({ url }: Server): Promise<{ readonly primary: number; readonly standbys: number }> {
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text()
  let onPrimary = 0
  let onStandbys = 0
  for (const [, name, count] of text.matchAll(/^basalt_database_reads_total\{server="([^"]*)"\} (\d+)$/gm)) {
    if (name === 'primary') onPrimary += Number(count)
    else onStandbys += Number(count)
  }
  return { primary: onPrimary, standbys: onStandbys }
}

/** Writes rows, and reads each at once with the position of its write. Every read must find its row. */
async function readOwnWrites(candidate: Candidate): Promise<void> {
  if (candidate.replicas === 0) return
  const before = await countReads(candidate.server)
  const writes = 500
  let missing = 0
  for (let n = 0; n < writes; n += 1) {
    const written = await request(candidate, requestOf('create')(n))
    const { id } = JSON.parse(written.text) as { id: number }
    const position = written.headers.get('x-basalt-position') ?? ''
    const read = await request(
      candidate,
      { method: 'GET', path: `/api/collections/bench_note/${id}` },
      { 'X-Basalt-Position': position },
    )
    if (read.status !== 200) missing += 1
  }
  const after = await countReads(candidate.server)
  const share = (after.standbys - before.standbys) / writes
  process.stdout.write(
    `${'own writes'.padEnd(24)} ${candidate.replicas} replicas  ${missing} of ${writes} not found, ` +
      `${(share * 100).toFixed(0)} % read on replicas right after the write\n`,
  )
  if (missing > 0) process.exitCode = 1
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
