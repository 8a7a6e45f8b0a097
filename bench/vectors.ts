import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Connection } from '../packages/server/src/database/connection/connection.ts'
import { type Call, statement } from '../packages/server/src/database/connection/message.ts'
import { type BenchRequest, ownerId } from './cases.ts'
import { median } from './median.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'
import { createPlanner } from './statements.ts'

/**
 * Measures queries for the 20 records nearest to a vector, over HTTP with a token and row-level security. They are
 * compared with the same statements sent directly to the same PostgreSQL, and with the plain query that a person would
 * write. Rounds alternate.
 *
 * BENCH_EXTENSIONS_URL: a superuser's URL, without a database, of a PostgreSQL with pgvector.
 */
const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    dimensions: { type: 'string', default: '384' },
    connections: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
  },
})
const serverUrl = process.env.BENCH_EXTENSIONS_URL
if (serverUrl === undefined) {
  throw new Error('BENCH_EXTENSIONS_URL is not set: a URL of a PostgreSQL with pgvector')
}
const target = 0.8
const warmUpMs = 45_000
const [rows, dimensions, width] = [options.rows, options.dimensions, options.connections].map(Number)
const durationMs = Number(options.seconds) * 1000
const name = `bench_vectors_${process.pid}`
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
const directory = createDirectory()

/** Query in the form that a person would write. */
const plainQuery = statement(`
  select json_agg(r.*) from (
    select id, title, embedding <=> $1::vector as _distance from bench_document
    order by embedding <=> $1::vector limit 20
  ) r`)

const maintenance = await open('postgres')
await maintenance.script(`create database ${name}`)
const server = await startServer(directory, { ...secret, BASALT_DATABASE_URL: `${serverUrl}/${name}` })
try {
  await seed()
  await measure()
} finally {
  server.process.kill('SIGTERM')
  await once(server.process, 'exit')
  await maintenance.script(`drop database ${name} with (force)`)
  await maintenance.close()
  rmSync(directory, { recursive: true, force: true })
}

function open(database: string, prepare = false): Promise<Connection> {
  return Connection.open({
    url: `${serverUrl}/${database}`,
    applicationName: 'bench',
    settings: {},
    prepare,
    connectTimeoutMs: 3000,
  })
}

/**
 * Inserts vectors around a thousand centres, like those of texts: evenly distributed points have no near ones. The
 * caller may see half of each centre.
 */
async function seed(): Promise<void> {
  const connection = await open(name)
  const beganAt = performance.now()
  await connection.script(`
    create extension vector;
    set max_parallel_maintenance_workers = 1;
    set maintenance_work_mem = '512MB';
    create table bench_document (
      id int primary key, owner_id uuid not null, title text not null, embedding vector(${dimensions}) not null
    );
    create temporary table centre as
      select c, (select array_agg((random() - 0.5 + c * 0 + d * 0)::real) from generate_series(1, ${dimensions}) d) as v
      from generate_series(0, 999) c;
    insert into bench_document
      select n, case when n / 1000 % 2 = 0 then '${ownerId}'::uuid else gen_random_uuid() end, 'Document ' || n,
        (select array_agg((x + (random() - 0.5) * 0.4 + n * 0)::real order by place)
          from unnest(centre.v) with ordinality u (x, place))::vector
      from generate_series(1, ${rows}) n join centre on c = n % 1000;
    create index on bench_document using hnsw (embedding vector_cosine_ops);
    alter table bench_document enable row level security;
    create policy own on bench_document using (owner_id = basalt.user_id());
    analyze bench_document`)
  await connection.close()
  process.stdout.write(`seeded in ${Math.round((performance.now() - beganAt) / 1000)} s\n`)
}

async function measure(): Promise<void> {
  const token = (
    await runScript(directory, basalt, ['admin', 'token', '--user', ownerId, '--seconds', '3600'], {
      ...secret,
      BASALT_DATABASE_URL: `${serverUrl}/${name}`,
    })
  ).trim()
  const connections = await Promise.all(Array.from({ length: width ?? 1 }, () => open(name, true)))
  const [first] = connections
  if (first === undefined) throw new Error('no connection')
  const plan = await createPlanner(first)
  const { rows: samples } = await first
    .script(`select embedding::text as v from bench_document order by md5(id::text) limit 200`)
    .then((results) => results[0] ?? { rows: [] })
  const vectors = samples.map(({ v }) => shorten(String(v)))
  const requests = vectors.map((vector): BenchRequest => {
    const query = new URLSearchParams({ nearest: vector, fields: 'id,title' })
    return { method: 'GET', path: `/api/collections/bench_document?${query}` }
  })
  const same: (readonly Call[])[] = []
  for (const request of requests) same.push(await plan(request))
  // The settings fill the page under the policy. Without them, the index returns fewer rows.
  const before = same[0]?.slice(0, -1) ?? []
  const plain = vectors.map((vector) => [...before, { statement: plainQuery, values: [vector] }])

  const base = new URL(server.url)
  const clients = connections.map(() => new RawConnection(base))
  const rendered = requests.map((request) => renderRequest(base, token, request))
  const sides = {
    http: () =>
      load((index, sent) => new Promise((done) => clients[index]?.send(pick(rendered, sent), done))),
    same: () => load((index, sent) => connections[index]?.send(pick(same, sent))),
    plain: () => load((index, sent) => connections[index]?.send(pick(plain, sent))),
  }
  const rates = { http: [] as number[], same: [] as number[], plain: [] as number[] }
  // A server runs for days and has compiled its code, so this one is warmed up.
  for (const beganAt = performance.now(); performance.now() - beganAt < warmUpMs; ) {
    for (const run of Object.values(sides)) await run()
  }
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const side of ['http', 'same', 'plain'] as const) rates[side].push(await sides[side]())
  }
  const [http, bare, written] = [median(rates.http), median(rates.same), median(rates.plain)]
  const verdict = http / bare >= target ? 'reached' : 'missed'
  process.stdout.write(
    `nearest 20 of ${rows} (${dimensions} dimensions): ${Math.round(http)}/s, ${(http / bare).toFixed(2)} of the same ` +
      `statements sent bare (target ${target.toFixed(2)}, ${verdict}), ${(http / written).toFixed(2)} of the plain query\n`,
  )
  for (const client of clients) client.close()
  await Promise.all(connections.map((connection) => connection.close()))
}

/** Shortens a vector to four digits, as a client would: they find the same records. */
function shorten(vector: string): string {
  return JSON.stringify((JSON.parse(vector) as number[]).map((value) => Math.round(value * 10_000) / 10_000))
}

function pick<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] as Item
}

/** Returns requests per second with one request at a time on each connection. */
async function load(
  send: (connection: number, sent: number) => Promise<unknown> | undefined,
): Promise<number> {
  let sent = 0
  let answered = 0
  const beganAt = performance.now()
  const endsAt = beganAt + durationMs
  await Promise.all(
    Array.from({ length: width ?? 1 }, async (_, index) => {
      while (performance.now() < endsAt) {
        await send(index, sent++)
        answered += 1
      }
    }),
  )
  return (answered / (performance.now() - beganAt)) * 1000
}
