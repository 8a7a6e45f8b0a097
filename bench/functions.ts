import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchRequest, ownerId } from './cases.ts'
import { median } from './median.ts'
import { processorTimes } from './processor-time.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Prints the processor time of functions beside that of the same work without them: server, child and database together, as
 * the median of paired rounds. Then the time from the start of a child to its first response:
 * `node bench/functions.ts [rounds]`.
 */

const rounds = Number(process.argv[2] ?? '7')
const secondsPerRound = 2
const connections = 8
const importedRows = 10_000

const schema = `
  create table plain (id int generated always as identity primary key, owner_id uuid not null default basalt.user_id(), body text not null);
  create table hooked (id int generated always as identity primary key, owner_id uuid not null default basalt.user_id(), body text not null);
  insert into plain (owner_id, body) select '${ownerId}', 'row ' || n from generate_series(1, 1000) n;
  alter table plain enable row level security;
  alter table hooked enable row level security;
  create policy own on plain using (owner_id = basalt.user_id());
  create policy own on hooked using (owner_id = basalt.user_id());`

const functions = `
  import { before, route } from '@basaltdb/functions'
  export const read = route('GET /read', { access: 'user' }, (ctx) => ctx.db.plain.get(1))
  export const quick = route('GET /quick', { access: 'anonymous' }, () => 'quick')
  export const exit = route('POST /exit', { access: 'anonymous' }, () => process.exit())
  export const empty = before('hooked', 'create', () => {})`

const create = (table: string): BenchRequest => ({
  method: 'POST',
  path: `/api/collections/${table}`,
  body: '{"body": "a new row"}',
})

interface Pair {
  readonly name: string
  /** Maximum ratio. */
  readonly target: number
  readonly work: readonly [withFunction: Work, without: Work]
}

/** Work of a round. It returns the number of its repetitions. */
type Work = (server: Server, token: string) => Promise<number>

const pairs: readonly Pair[] = [
  {
    name: 'route that reads one row',
    target: 2,
    work: [
      repeat({ method: 'GET', path: '/api/functions/read' }),
      repeat({ method: 'GET', path: '/api/collections/plain/1' }),
    ],
  },
  {
    name: 'create with an empty before hook',
    target: 2,
    work: [repeat(create('hooked')), repeat(create('plain'))],
  },
  { name: `import of ${importedRows} rows`, target: 3, work: [importInto('hooked'), importInto('plain')] },
]

/** Repeats a request for the time of a round. */
function repeat(request: BenchRequest): Work {
  return async (server, token) => {
    const target = new URL(server.url)
    const rendered = renderRequest(target, token, request)
    let answered = 0
    let isOver = false
    const opened = Array.from({ length: connections }, () => {
      const connection = new RawConnection(target)
      return new Promise<void>((resolve) => {
        const receive = () => {
          answered += 1
          if (!isOver) {
            connection.send(rendered, receive)
            return
          }
          connection.close()
          resolve()
        }
        connection.send(rendered, receive)
      })
    })
    setTimeout(() => {
      isOver = true
    }, secondsPerRound * 1000)
    await Promise.all(opened)
    return answered
  }
}

function importInto(table: string): Work {
  const body = `body\n${Array.from({ length: importedRows }, (_, row) => `imported ${row}`).join('\n')}\n`
  return async (server, token) => {
    await request(server, token, 'POST', `/api/collections/${table}/import`, body, 'text/csv')
    return 1
  }
}

/** Sends a request, and makes sure that an error is not what is measured. */
async function request(
  { url }: Server,
  token: string,
  method: string,
  path: string,
  body: string | null = null,
  type = 'application/json',
): Promise<void> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === null ? {} : { 'content-type': type }) },
    body,
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
}

/** Returns microseconds of processor time for one time of the work. */
async function measure(server: Server, token: string, work: Work): Promise<number> {
  const before = processorTimes(server)
  const count = await work(server, token)
  const after = processorTimes(server)
  return (after.server - before.server + (after.database - before.database)) / count
}

/** Ends the child, and returns the milliseconds until another one responds, without the pause before its start. */
async function measureCold(server: Server): Promise<number> {
  await fetch(new URL('/api/functions/exit', server.url), { method: 'POST' })
  const endedAt = performance.now()
  for (;;) {
    const response = await fetch(new URL('/api/functions/quick', server.url))
    await response.text()
    if (response.ok) return performance.now() - endedAt
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const directory = createDirectory()
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
mkdirSync(join(directory, 'functions'))
mkdirSync(join(directory, 'node_modules', '@basaltdb'), { recursive: true })
symlinkSync(
  join(import.meta.dirname, '..', 'packages', 'functions'),
  join(directory, 'node_modules', '@basaltdb', 'functions'),
)
writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
writeFileSync(join(directory, 'functions', 'bench.ts'), functions)
writeFileSync(join(directory, 'schema.sql'), schema)
const server = await startServer(directory, secret)
try {
  await runScript(directory, basalt, ['sql', '--file', 'schema.sql'])
  const flags = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...flags], secret)).trim()
  await request(server, token, 'GET', '/api/functions/read')
  for (const table of ['hooked', 'plain'])
    await request(server, token, 'POST', `/api/collections/${table}`, '{"body": "first"}')
  for (const { name, target, work } of pairs) {
    const found: { readonly own: number; readonly base: number }[] = []
    for (let round = 0; round <= rounds; round += 1) {
      const own = await measure(server, token, work[0])
      const base = await measure(server, token, work[1])
      // The first round warms up.
      if (round > 0) found.push({ own, base })
    }
    const ratio = median(found.map(({ own, base }) => own / base))
    const micros = (values: readonly number[]) => `${Math.round(median(values))} µs`.padStart(11)
    process.stdout.write(
      `${name.padEnd(34)} with ${micros(found.map(({ own }) => own))}  without ${micros(found.map(({ base }) => base))}` +
        `  ratio ${ratio.toFixed(2)} (at most ${target})\n`,
    )
  }
  const cold = await measureCold(server)
  process.stdout.write(
    `${'end of a child to the next response'.padEnd(34)} ${Math.round(cold)} ms, of which 100 ms are the pause before the restart\n`,
  )
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
