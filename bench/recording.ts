import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchCase, cases, ownerId, seedScript } from './cases.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/** What a server keeps of its requests, and the requests it is measured with. */
export interface RecordingCase {
  readonly name: string
  /** The smallest ratio that is good enough. */
  readonly target: number
  readonly request: string
  /** Configuration of the two servers. */
  readonly base: Readonly<Record<string, string>>
  readonly changed: Readonly<Record<string, string>>
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
    name: 'row audit',
    target: 0.75,
    request: 'create',
    base: {},
    changed: { BASALT_AUDIT_TABLES: 'bench_note' },
  },
]

interface Side {
  readonly directory: string
  readonly server: Server
  readonly token: string
}

async function openSide(env: Readonly<Record<string, string>>): Promise<Side> {
  const directory = createDirectory()
  const seeding = await startServer(directory)
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  await endServer(seeding)
  // Started over, so that tables are recorded from the first request on.
  const server = await startServer(directory, env)
  const token = await runScript(directory, basalt, [
    ...['admin', 'token', '--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000'],
  ])
  return { directory, server, token: token.trim() }
}

async function endServer({ process }: Server): Promise<void> {
  process.kill('SIGTERM')
  await new Promise((resolve) => process.once('exit', resolve))
}

/** Two servers, measured in turn, so that a machine whose speed drifts does so for both. */
export async function measureRecording(
  { name, target, request, base, changed }: RecordingCase,
  rounds: number,
  load: (benchCase: BenchCase, url: string, token: string) => Promise<number>,
): Promise<string> {
  const benchCase = cases.find((each) => each.name === request)
  if (benchCase === undefined) throw new Error(`no case ${request}`)
  const sides: Side[] = []
  try {
    for (const env of [base, changed]) sides.push(await openSide(env))
    const [one, other] = sides
    if (one === undefined || other === undefined) throw new Error('no servers to compare')
    const rate = ({ server, token }: Side) => load(benchCase, server.url, token)
    await rate(one)
    await rate(other)
    const ratios: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const [first, second] = round % 2 === 0 ? [one, other] : [other, one]
      const rates = [await rate(first), await rate(second)] as const
      ratios.push(first === one ? rates[1] / rates[0] : rates[0] / rates[1])
    }
    const ratio = ratios.toSorted((low, high) => low - high)[Math.floor(ratios.length / 2)] ?? 0
    const verdict = ratio >= target ? 'reached' : 'missed'
    return `${name}: ${ratio.toFixed(3)} of the rate without it (target ${target.toFixed(2)}, ${verdict}; rounds ${ratios.map((each) => each.toFixed(2)).join(', ')})\n`
  } finally {
    for (const { server, directory } of sides) {
      await endServer(server)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
