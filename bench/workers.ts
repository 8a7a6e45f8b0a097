import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ownerId, seedScript } from './cases.ts'
import { processorTimes } from './processor-time.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Compares servers with one and several workers: requests a second, processor time a request, the first worker's part
 * of the requests, and memory. All servers run at once, and runs alternate
 * between them, so that drift of the machine's speed affects all equally. Rates depend on the free processors.
 */
const { values: options } = parseArgs({
  options: {
    workers: { type: 'string', default: '1,2' },
    connections: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    cases: { type: 'string', default: 'one row;list of 20, no total;create' },
  },
})

interface Round {
  readonly rate: number
  readonly server: number
  readonly database: number
  readonly first: number
}

interface Candidate {
  readonly workers: number
  readonly directory: string
  readonly server: Server
  readonly token: string
}

const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
const candidates: Candidate[] = []
try {
  for (const workers of options.workers.split(',').map(Number)) {
    const directory = createDirectory()
    const server = await startServer(directory, { ...secret, BASALT_SERVER_WORKERS: String(workers) })
    writeFileSync(join(directory, 'seed.sql'), seedScript)
    await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
    const caller = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
    const token = (await runScript(directory, basalt, ['admin', 'token', ...caller], secret)).trim()
    candidates.push({ workers, directory, server, token })
  }
  for (const name of options.cases.split(';')) await compare(name)
  // Idle memory is that of a minute without requests.
  await delay(60_000)
  for (const { workers, server } of candidates) {
    process.stdout.write(
      `${workers} workers idle: ${memoryOf(server).map(megabytes).join(', ')} (PSS, parent first)\n`,
    )
  }
} finally {
  for (const { server, directory } of candidates) {
    server.process.kill('SIGTERM')
    await new Promise((resolve) => server.process.once('exit', resolve))
    rmSync(directory, { recursive: true, force: true })
  }
}

async function compare(name: string): Promise<void> {
  const rounds = new Map<number, Round[]>()
  // The first round is to compile code and to open connections.
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const candidate of candidates) {
      const result = await measure(candidate, name)
      if (round > 0) rounds.set(candidate.workers, [...(rounds.get(candidate.workers) ?? []), result])
    }
  }
  const base = candidates[0]?.workers ?? 1
  const medianOf = (workers: number, value: (round: Round) => number) =>
    median((rounds.get(workers) ?? []).map(value))
  for (const { workers } of candidates) {
    const server = medianOf(workers, (round) => round.server)
    // Rounds are compared one by one, as other processes slow down some of them.
    const baseRounds = rounds.get(base) ?? []
    const ratio = median(
      (rounds.get(workers) ?? []).map((round, index) => round.server / (baseRounds[index]?.server ?? 0)),
    )
    const shares = (rounds.get(workers) ?? []).map(({ first }) => (first * 100).toFixed(0))
    process.stdout.write(
      `${name.padEnd(24)} ${workers} workers  ${medianOf(workers, (round) => round.rate)
        .toFixed(0)
        .padStart(6)}/s  ` +
        `${server.toFixed(0).padStart(4)} µs server (${ratio.toFixed(2)})  ` +
        `${medianOf(workers, (round) => round.database)
          .toFixed(0)
          .padStart(4)} µs database  ` +
        `first worker ${shares.join(' ')} %\n`,
    )
  }
}

async function measure({ server, token }: Candidate, name: string): Promise<Round> {
  const before = { times: processorTimes(server), requests: await countRequests(server) }
  const script = fileURLToPath(new URL('http-load.ts', import.meta.url))
  const { connections, seconds } = options
  const output = await runScript('.', script, [server.url, token, name, connections, seconds])
  const { rate } = JSON.parse(output) as { rate: number }
  const times = processorTimes(server)
  const requests = await countRequests(server)
  const each = requests.map((count, index) => count - (before.requests[index] ?? 0))
  const total = each.reduce((sum, count) => sum + count, 0)
  return {
    rate,
    server: (times.server - before.times.server) / total,
    database: (times.database - before.times.database) / total,
    first: (each[0] ?? 0) / total,
  }
}

/** Returns the requests that each worker has served so far. */
async function countRequests({ url }: Server): Promise<number[]> {
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text()
  const counts: number[] = []
  for (const [, labels = '', count] of text.matchAll(/^basalt_http_requests_total\{(.*)\} (\d+)$/gm)) {
    const index = Number(/worker="(\d+)"/.exec(labels)?.[1] ?? 1) - 1
    counts[index] = (counts[index] ?? 0) + Number(count)
  }
  return counts
}

/** Returns the proportional set sizes of a server's processes, in bytes. */
function memoryOf({ process: { pid = 0 } }: Server): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children].map((each) => {
    const [, kilobytes] = /^Pss: +(\d+)/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, 'utf8')) ?? []
    return Number(kilobytes) * 1024
  })
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MB`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
