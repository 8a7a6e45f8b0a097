import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchRequest, ownerId, seedScript } from './cases.ts'
import { median } from './median.ts'
import { processorTimes } from './processor-time.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Prints the processor time of GraphQL operations beside that of the same requests by REST, server and database
 * together, as the median of alternating rounds: `node bench/graphql.ts [rounds]`.
 */

const rounds = Number(process.argv[2] ?? '7')
const secondsPerRound = 2

interface Pair {
  readonly name: string
  /** Maximum ratio of GraphQL to REST. */
  readonly target: number
  readonly graphql: readonly BenchRequest[]
  readonly rest: readonly BenchRequest[]
  /** Concurrent requests. */
  readonly connections: number
}

const tasks = '/api/collections/bench_task'
const columns = 'id owner_id project_id title done priority estimate created_at'

function run(query: string): BenchRequest {
  return { method: 'POST', path: '/api/graphql', body: JSON.stringify({ query }) }
}

const aliased = Array.from({ length: 10 }, (_, n) => `t${n}: bench_task(limit: 20) { ${columns} }`)

const pairs: readonly Pair[] = [
  {
    name: 'list of 20 with one relation',
    target: 1.15,
    graphql: [run(`{ bench_task(limit: 20) { ${columns} project { id name } } }`)],
    rest: [{ method: 'GET', path: `${tasks}?expand=project&skipTotal=true` }],
    connections: 16,
  },
  {
    name: 'ten lists of 20, sequential',
    target: 1 / 3,
    graphql: [run(`{ ${aliased.join(' ')} }`)],
    rest: aliased.map(() => ({ method: 'GET', path: `${tasks}?skipTotal=true` })),
    connections: 1,
  },
]

/** Returns microseconds of processor time for each run of all the requests. */
async function measure(
  server: Server,
  token: string,
  requests: readonly BenchRequest[],
  connections: number,
): Promise<number> {
  const target = new URL(server.url)
  const rendered = requests.map((request) => renderRequest(target, token, request))
  let sent = 0
  let answered = 0
  let isOver = false
  const before = processorTimes(server)
  const opened = Array.from({ length: connections }, () => {
    const connection = new RawConnection(target)
    return new Promise<void>((resolve) => {
      const send = () => connection.send(rendered[sent++ % rendered.length] ?? Buffer.alloc(0), receive)
      const receive = () => {
        answered += 1
        if (isOver) {
          connection.close()
          resolve()
        } else send()
      }
      send()
    })
  })
  setTimeout(() => {
    isOver = true
  }, secondsPerRound * 1000)
  await Promise.all(opened)
  const after = processorTimes(server)
  const micros = after.server - before.server + (after.database - before.database)
  return (micros / answered) * requests.length
}

/** Makes sure that errors are not what is measured. */
async function requireData(server: Server, token: string, requests: readonly BenchRequest[]): Promise<void> {
  for (const { method, path, body } of requests) {
    const response = await fetch(new URL(path, server.url), {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body ?? null,
    })
    const text = await response.text()
    if (!response.ok || text.includes('"errors"')) throw new Error(`${path}: ${response.status} ${text}`)
  }
}

const directory = createDirectory()
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
const server = await startServer(directory, secret)
try {
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const flags = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...flags], secret)).trim()
  for (const { name, target, graphql, rest, connections } of pairs) {
    await requireData(server, token, graphql)
    const found: { readonly graphql: number; readonly rest: number }[] = []
    for (let round = 0; round <= rounds; round += 1) {
      const measured = {
        graphql: await measure(server, token, graphql, connections),
        rest: await measure(server, token, rest, connections),
      }
      // The first round warms up.
      if (round > 0) found.push(measured)
    }
    const ratio = median(found.map((each) => each.graphql / each.rest))
    const cells = [
      name.padEnd(30),
      `GraphQL ${String(Math.round(median(found.map((each) => each.graphql)))).padStart(6)} µs`,
      `REST ${String(Math.round(median(found.map((each) => each.rest)))).padStart(6)} µs`,
      `ratio ${ratio.toFixed(2)} (at most ${target.toFixed(2)})`,
    ]
    process.stdout.write(`${cells.join('  ')}\n`)
  }
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
