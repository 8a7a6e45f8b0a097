import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchCase, cases, ownerId, seedScript } from './cases.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/** Recording of requests by a server, and the requests that measure it. */
export interface RecordingCase {
  readonly name: string
  /** Minimum ratio. */
  readonly target: number
  readonly request: string
  /** Configuration of the two servers. */
  readonly base: Readonly<Record<string, string>>
  readonly changed: Readonly<Record<string, string>>
  /** Settings of PostgreSQL for the first of the two. */
  readonly settings?: readonly string[]
}

export const recordingCases: readonly RecordingCase[] = [
  {
    name: 'request log',
    target: 0.95,
    request: 'list of 20, no total',
    base: { BASALT_LOGGING_STORE: 'false', BASALT_LOGGING_STORE_REQUESTS: 'false' },
    changed: {},
  },
  {
    name: 'statement statistics',
    target: 0.97,
    request: 'list of 20, no total',
    base: {},
    changed: {},
    // The library stays loaded, but neither hashes nor counts.
    settings: ["pg_stat_statements.track = 'none'", "compute_query_id = 'off'"],
  },
  {
    name: 'row audit',
    target: 0.75,
    request: 'create',
    base: {},
    changed: { BASALT_AUDIT_TABLES: 'bench_note' },
  },
]

interface Side {
  readonly env: Readonly<Record<string, string>>
  readonly directory: string
  readonly token: string
}

async function createSide(
  env: Readonly<Record<string, string>>,
  settings: readonly string[] = [],
): Promise<Side> {
  const directory = createDirectory()
  const server = await startServer(directory)
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  for (const setting of settings) await runScript(directory, basalt, ['sql', `alter system set ${setting}`])
  const token = await runScript(directory, basalt, [
    ...['admin', 'token', '--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000'],
  ])
  await endServer(server)
  return { env, directory, token: token.trim() }
}

async function endServer({ process }: Server): Promise<void> {
  process.kill('SIGTERM')
  await new Promise((resolve) => process.once('exit', resolve))
}

type Load = (benchCase: BenchCase, url: string, token: string) => Promise<number>

/**
 * Measures two servers in alternation, so that drift of the machine's speed affects both equally. Each round starts new
 * processes: of two processes that do the same, one is up to a twentieth faster than the other for as long as they run.
 */
export async function measureRecording(
  { name, target, request, base, changed, settings }: RecordingCase,
  rounds: number,
  load: Load,
): Promise<string> {
  const benchCase = cases.find((each) => each.name === request)
  if (benchCase === undefined) throw new Error(`no case ${request}`)
  const without = await createSide(base, settings)
  const recorded = await createSide(changed)
  try {
    const ratios: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      ratios.push(await compare(benchCase, without, recorded, load))
    }
    const ratio = ratios.toSorted((low, high) => low - high)[Math.floor(ratios.length / 2)] ?? 0
    const verdict = ratio >= target ? 'reached' : 'missed'
    return `${name}: ${ratio.toFixed(3)} of the rate without it (target ${target.toFixed(2)}, ${verdict}; rounds ${ratios.map((each) => each.toFixed(2)).join(', ')})\n`
  } finally {
    for (const { directory } of [without, recorded]) rmSync(directory, { recursive: true, force: true })
  }
}

/** Returns the rate with the recording in proportion to the rate without it. */
async function compare(benchCase: BenchCase, without: Side, recorded: Side, load: Load): Promise<number> {
  const servers: Server[] = []
  try {
    for (const { directory, env } of [without, recorded]) servers.push(await startServer(directory, env))
    const [one, other] = servers
    if (one === undefined || other === undefined) throw new Error('no servers to compare')
    const rateWithout = () => load(benchCase, one.url, without.token)
    const rateRecorded = () => load(benchCase, other.url, recorded.token)
    await rateWithout()
    await rateRecorded()
    // In both orders, so that neither is always the later one.
    const before = await rateWithout()
    const during = (await rateRecorded()) + (await rateRecorded())
    return during / (before + (await rateWithout()))
  } finally {
    for (const server of servers) await endServer(server)
  }
}
