import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  type BenchCase,
  cases,
  documentScript,
  openLoopCases,
  ownerId,
  readsDocuments,
  seedScript,
} from './cases.ts'
import { median } from './median.ts'
import type { Latencies } from './open-loop.ts'
import { measurePaired, pairedCases, pairedRequest } from './paired.ts'
import { processorTimes } from './processor-time.ts'
import { measureRecording, recordingCases } from './recording.ts'
import { basalt, createDirectory, runScript, type Server, startFarServer, startServer } from './server.ts'

/**
 * Measures requests per second over HTTP on loopback, with a token and row-level security. The floor is the same
 * statements sent directly to the same Postgres from the same distance. Rounds alternate between the two, so that drift
 * of the machine's speed affects both equally. With `--case`, the cost of a kind of call is measured instead: the
 * medians with and without it are compared. Ratios can be quoted, rates only together with the machine. Beside the rates is
 * the processor time of the server and of the database a request.
 */
const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '64' },
    /**
     * Seconds of a round: 2 by default, and 10 for `open-loop`, because a single stall of 20 ms in two seconds would be
     * the 99th percentile.
     */
    seconds: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    /** Case: `throughput`, `open-loop`, or the name of a paired one. */
    case: { type: 'string', default: 'throughput' },
    /** Milliseconds of a round trip between server and database. */
    delay: { type: 'string', default: '0' },
    /** Requests a second of `open-loop`. */
    rate: { type: 'string', default: '' },
    peer: { type: 'string' },
    'peer-token': { type: 'string', default: '' },
  },
})

const seconds = options.seconds ?? (options.case === 'open-loop' ? '10' : '2')
const directory = createDirectory()

interface Result {
  readonly benchCase: BenchCase
  readonly http: number
  readonly floor: number
  readonly peer: number | undefined
  /** Microseconds of processor time a request; undefined if the database is far away. */
  readonly micros: { readonly server: number; readonly database: number } | undefined
}

/** Secret of both servers if the database is far away. */
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
const near = await startServer(directory, secret)
const farDirectory = createDirectory()
const far =
  options.delay === '0' ? undefined : await startFarServer(farDirectory, near, Number(options.delay), secret)
const server = far ?? near
try {
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const token = (
    await runScript(
      directory,
      basalt,
      ['admin', 'token', '--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000'],
      secret,
    )
  ).trim()
  if (options.case === 'throughput') await measureThroughput(server, token)
  else if (options.case === 'open-loop') await measureOpenLoop(server, token)
  else await measurePairs(options.case, server, token)
} finally {
  far?.close()
  near.process.kill('SIGTERM')
  await new Promise((resolve) => near.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
  rmSync(farDirectory, { recursive: true, force: true })
}

async function measureThroughput(server: Server, token: string): Promise<void> {
  const results: Result[] = []
  const selected = cases.filter(({ name }) => name.includes(options.only))
  if (selected.some(readsDocuments)) {
    writeFileSync(join(directory, 'documents.sql'), documentScript)
    await runScript(directory, basalt, ['sql', '--file', 'documents.sql'])
    await runScript(directory, basalt, ['search', 'enable', 'bench_document'])
  }
  for (const benchCase of selected) {
    results.push(await measure(benchCase, server, token))
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  print(results)
}

/** Measures the cost of callers and of recording. @param name part of the names of the cases */
async function measurePairs(name: string, { url }: Server, token: string): Promise<void> {
  const rounds = Number(options.rounds)
  const send = (sent: string) => loadOverHttp(pairedRequest, url, sent)
  for (const each of pairedCases.filter((paired) => paired.name.includes(name))) {
    process.stdout.write(await measurePaired(each, directory, token, { rounds, load: send }))
  }
  for (const each of recordingCases.filter((recording) => recording.name.includes(name))) {
    process.stdout.write(await measureRecording(each, rounds, loadOverHttp))
  }
}

/**
 * Measures latencies in milliseconds at `--rate`, by default half of the maximum rate of the server with all
 * connections. The floor gets the same requests at the same rate: its tail is that of the machine.
 */
async function measureOpenLoop({ url, database }: Server, token: string): Promise<void> {
  const { connections } = options
  for (const { name, p99Ms } of openLoopCases.filter((each) => each.name.includes(options.only))) {
    await load('http-load.ts', [url, token, name, connections, seconds])
    const peak = () => load('http-load.ts', [url, token, name, connections, seconds])
    const rate = options.rate === '' ? (await peak()) / 2 : Number(options.rate)
    const sent = [name, connections, seconds, String(rate)]
    const http: Latencies[] = []
    const floor: Latencies[] = []
    for (let round = 0; round < Number(options.rounds); round += 1) {
      http.push(await measureLatencies('open-load.ts', [url, token, ...sent]))
      floor.push(await measureLatencies('open-floor-load.ts', [database, ...sent]))
    }
    const p99Of = (rounds: readonly Latencies[]) => median(rounds.map(({ p99 }) => p99))
    const times = (p99Of(http) / p99Of(floor)).toFixed(1)
    process.stdout.write(
      `${name.padEnd(24)} ${perSecond(rate)}/s  ${describe(http)} ms  (target p99 ${p99Ms})\n` +
        `${''.padEnd(24)} floor: ${describe(floor)} ms; p99 is ${times} times the floor's\n`,
    )
  }
}

async function measureLatencies(script: string, args: string[]): Promise<Latencies> {
  const output = await runScript(directory, fileURLToPath(new URL(script, import.meta.url)), args)
  return JSON.parse(output) as Latencies
}

function describe(rounds: readonly Latencies[]): string {
  return (['p50', 'p99', 'p999', 'max'] as const)
    .map((key) => `${key} ${median(rounds.map((each) => each[key])).toFixed(1)}`)
    .join('  ')
}

async function measure(benchCase: BenchCase, { url, database }: Server, token: string): Promise<Result> {
  const micros = { server: [] as number[], database: [] as number[] }
  const http = async () => {
    const before = processorTimes(near)
    const rate = await loadOverHttp(benchCase, url, token)
    const after = processorTimes(near)
    const answered = rate * Number(seconds)
    micros.server.push((after.server - before.server) / answered)
    micros.database.push((after.database - before.database) / answered)
    return rate
  }
  const floor = () => load('floor-load.ts', [database, benchCase.name, options.connections, seconds])
  const { peer: peerUrl } = options
  const peer =
    peerUrl === undefined ? undefined : () => loadOverHttp(benchCase, peerUrl, options['peer-token'])
  await http()
  const rates = { http: [] as number[], floor: [] as number[], peer: [] as number[] }
  for (let round = 0; round < Number(options.rounds); round += 1) {
    rates.http.push(await http())
    rates.floor.push(await floor())
    if (peer !== undefined) rates.peer.push(await peer())
  }
  return {
    benchCase,
    http: median(rates.http),
    floor: median(rates.floor),
    peer: peer === undefined ? undefined : median(rates.peer),
    micros:
      far === undefined ? { server: median(micros.server), database: median(micros.database) } : undefined,
  }
}

function loadOverHttp(benchCase: BenchCase, url: string, token: string): Promise<number> {
  return load('http-load.ts', [url, token, benchCase.name, options.connections, seconds])
}

async function load(script: string, args: string[]): Promise<number> {
  const output = await runScript(directory, fileURLToPath(new URL(script, import.meta.url)), args)
  return (JSON.parse(output) as { rate: number }).rate
}

function print(results: readonly Result[]): void {
  const rows = results.map(({ benchCase, http, floor, peer, micros }) => {
    const ratio = http / floor
    const verdict = benchCase.target === undefined ? '' : ratio >= benchCase.target ? 'reached' : 'missed'
    return [
      benchCase.name,
      perSecond(http),
      perSecond(floor),
      ratio.toFixed(2),
      benchCase.target?.toFixed(2) ?? '',
      verdict,
      micros === undefined ? '' : micros.server.toFixed(0),
      micros === undefined ? '' : micros.database.toFixed(0),
      ...(peer === undefined ? [] : [perSecond(peer), (http / peer).toFixed(2)]),
    ]
  })
  const heads = [
    'case',
    'requests/s',
    'floor/s',
    'ratio',
    'target',
    '',
    'server µs',
    'database µs',
    ...(options.peer === undefined ? [] : ['peer/s', 'to peer']),
  ]
  const widths = heads.map((_, column) =>
    Math.max(...[heads, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  const format = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
  process.stdout.write(
    `${[heads, widths.map((width) => '-'.repeat(width)), ...rows].map(format).join('\n')}\n`,
  )
  const single = results.find(({ benchCase }) => benchCase.name === 'create')
  const batch = results.find(
    ({ benchCase }) => benchCase.records === 50 && benchCase.name.startsWith('batch'),
  )
  if (single !== undefined && batch !== undefined) {
    const times = (batch.http * 50) / single.http
    process.stdout.write(
      `A batch of 50 does ${times.toFixed(1)} times as many records a second as single creates (target 10).\n`,
    )
  }
}

function perSecond(rate: number): string {
  return Math.round(rate).toLocaleString('en')
}
