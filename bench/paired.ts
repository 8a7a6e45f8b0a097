import { type BenchCase, cases, ownerId } from './cases.ts'
import { basalt, runScript } from './server.ts'

/** Two ways to authenticate requests, which are compared. */
export interface PairedCase {
  readonly name: string
  /** Minimum ratio. */
  readonly target: number
  /** Makes the bearer tokens of the two sides. */
  readonly tokens: (directory: string, token: string) => Promise<{ base: string; changed: string }>
}

/** Limit that requests of a benchmark do not reach. */
const farLimit = '10000000'

async function createKey(directory: string, ...flags: string[]): Promise<string> {
  const made = await runScript(directory, basalt, ['keys', 'create', 'bench', '--user', ownerId, ...flags])
  return made.trim()
}

async function createUser(directory: string): Promise<void> {
  const insert = `insert into basalt.users (id, email) values ('${ownerId}', 'bench@example.com') on conflict do nothing`
  await runScript(directory, basalt, ['sql', insert])
}

/** Cases of callers, each compared with the same requests without the feature. */
export const pairedCases: readonly PairedCase[] = [
  {
    name: 'key',
    target: 0.97,
    async tokens(directory, token) {
      await createUser(directory)
      return { base: token, changed: await createKey(directory) }
    },
  },
  {
    name: 'app limit',
    target: 0.93,
    async tokens(directory, token) {
      await createUser(directory)
      const app = await runScript(directory, basalt, [
        ...['apps', 'create', 'bench', '--owner', ownerId, '--limit', farLimit],
      ])
      return { base: token, changed: await createKey(directory, '--app', app.trim()) }
    },
  },
]

/** Lists of 20, the most frequent read. */
export const pairedRequest = requireCase('list of 20, no total')

function requireCase(wanted: string): BenchCase {
  const found = cases.find(({ name }) => name === wanted)
  if (found === undefined) throw new Error(`there is no case "${wanted}"`)
  return found
}

/** Measures both sides in alternation, so that drift of the machine's speed affects both equally. */
export async function measurePaired(
  { name, target, tokens }: PairedCase,
  directory: string,
  token: string,
  { rounds, load }: { rounds: number; load: (token: string) => Promise<number> },
): Promise<string> {
  const { base, changed } = await tokens(directory, token)
  await load(changed)
  await load(base)
  const ratios: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2 === 0 ? base : changed
    const rate = await load(first)
    const other = await load(first === base ? changed : base)
    ratios.push(first === base ? other / rate : rate / other)
  }
  const ratio = ratios.toSorted((one, other) => one - other)[Math.floor(ratios.length / 2)] ?? 0
  const verdict = ratio >= target ? 'reached' : 'missed'
  return `${name}: ${ratio.toFixed(3)} of the rate without it (target ${target.toFixed(2)}, ${verdict}; rounds ${ratios.map((each) => each.toFixed(2)).join(', ')})\n`
}
