import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type BenchRequest, cases, ownerId, readsDocuments, seedScript } from './cases.ts'
import { median } from './median.ts'
import { processorTimes } from './processor-time.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Prints the processor time of requests, of the server and of the database, as medians of alternating rounds:
 * `node bench/costs.ts [--rounds 5] [--busy]`. The server's part is also a ratio to that of the list in the same round.
 * With `--busy`, each round is repeated beside four spinning processes.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    /** Part of the names of the cases; the list is always measured. */
    only: { type: 'string', default: '' },
    busy: { type: 'boolean', default: false },
  },
})
const connections = Number(options.connections)
const password = 'tangerine-harbour-42'
const spinners = 4

interface CostCase {
  readonly name: string
  /** Maximum of the server's processor time, as a ratio to that of the list. */
  readonly target?: number
  /** Returns the next request of a connection. */
  readonly request: (connection: number) => BenchRequest
  /** Reads the response before the next request of the connection. */
  readonly receive?: (connection: number, body: string) => void
}

interface Cost {
  readonly server: number
  readonly database: number
  readonly rate: number
}

const list = 'list of 20, no total'
const targets: Readonly<Record<string, number>> = { create: 1.4 }

const directory = createDirectory()
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
const server = await startServer(directory, {
  ...secret,
  BASALT_AUTH_LIMITS_LOGIN_FAILURES_PER_ADDRESS: '1000000',
})
try {
  writeFileSync(`${directory}/seed.sql`, seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const flags = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...flags], secret)).trim()
  const selected = [...tableCases(), refreshCase(await signInAll())].filter(
    ({ name }) => name === list || name.includes(options.only),
  )
  const loads = options.busy ? ['alone', 'busy'] : ['alone']
  const found = new Map<string, Cost[]>()
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const load of loads) {
      const spinning = load === 'busy' ? startSpinning() : []
      for (const each of selected) {
        const cost = await measure(server, token, each)
        // The first round warms up.
        if (round > 0) found.set(`${load} ${each.name}`, [...(found.get(`${load} ${each.name}`) ?? []), cost])
      }
      for (const child of spinning) child.kill('SIGKILL')
    }
  }
  for (const each of selected) print(each, found)
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}

function tableCases(): readonly CostCase[] {
  return cases
    .filter((each) => !readsDocuments(each))
    .map(({ name, request }) => {
      let sent = 0
      return { name, ...(name in targets ? { target: targets[name] } : {}), request: () => request(sent++) }
    })
}

/** Returns a case in which each connection refreshes a session of its own. */
function refreshCase(tokens: string[]): CostCase {
  return {
    name: 'refresh of a session',
    target: 1.8,
    request: (connection) => ({
      method: 'POST',
      path: '/api/auth/refresh',
      body: JSON.stringify({ refreshToken: tokens[connection] }),
    }),
    receive(connection, body) {
      tokens[connection] = (JSON.parse(body) as { refreshToken: string }).refreshToken
    },
  }
}

async function signInAll(): Promise<string[]> {
  const tokens: string[] = []
  await post('register', { email: 'bench@example.com', password })
  for (let count = 0; count < connections; count += 1) {
    tokens.push((await post('login', { email: 'bench@example.com', password })).refreshToken)
  }
  return tokens
}

async function post(path: string, body: object): Promise<{ readonly refreshToken: string }> {
  const response = await fetch(`${server.url}/api/auth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { refreshToken: string }
}

function startSpinning(): readonly ChildProcess[] {
  return Array.from({ length: spinners }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
}

/** Returns microseconds of processor time for each request, and the requests a second. */
async function measure(measured: Server, token: string, { request, receive }: CostCase): Promise<Cost> {
  const target = new URL(measured.url)
  const before = processorTimes(measured)
  const startedAt = performance.now()
  const end = startedAt + Number(options.seconds) * 1000
  let answered = 0
  await Promise.all(
    Array.from({ length: connections }, async (_, index) => {
      const connection = new RawConnection(target)
      while (performance.now() < end) {
        const sent = renderRequest(target, token, request(index))
        const body = await new Promise<string>((resolve) =>
          connection.send(sent, resolve, receive !== undefined),
        )
        receive?.(index, body)
        answered += 1
      }
      connection.close()
    }),
  )
  const after = processorTimes(measured)
  return {
    server: (after.server - before.server) / answered,
    database: (after.database - before.database) / answered,
    rate: (answered / (performance.now() - startedAt)) * 1000,
  }
}

function print({ name, target }: CostCase, found: ReadonlyMap<string, readonly Cost[]>): void {
  const alone = found.get(`alone ${name}`) ?? []
  const ratios = alone.map(
    ({ server: micros }, round) => micros / (found.get(`alone ${list}`)?.[round]?.server ?? 0),
  )
  const busy = found.get(`busy ${name}`)
  const cells = [
    name.padEnd(28),
    `server ${micros(alone, 'server')} µs`,
    `database ${micros(alone, 'database')} µs`,
    `${micros(alone, 'rate')}/s`,
    `${median(ratios).toFixed(2)} lists${target === undefined ? '' : ` (at most ${target})`}`,
    ...(busy === undefined
      ? []
      : [
          `busy: server ${micros(busy, 'server')} µs, ${median(busy.map((each, round) => each.server / (alone[round]?.server ?? 0))).toFixed(2)} times`,
        ]),
  ]
  process.stdout.write(`${cells.join('  ')}\n`)
}

function micros(costs: readonly Cost[], part: keyof Cost): string {
  return String(Math.round(median(costs.map((cost) => cost[part])))).padStart(6)
}
