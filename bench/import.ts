import { rmSync } from 'node:fs'
import pg from 'pg'
import { basalt, createDirectory, runScript, startServer, superuserOf } from './server.ts'

/**
 * Measures the import of a large CSV by the API under row-level security, against a bare COPY of the same rows into the
 * same table.
 */
const rows = Number(process.argv[2] ?? 1_000_000)
const targetSeconds = (rows / 1_000_000) * 60

const directory = createDirectory()
const env = {
  BASALT_API_IMPORT_MAX_ROWS: String(rows),
  BASALT_API_IMPORT_MAX_SIZE_MB: '1000',
  BASALT_SERVER_REQUEST_TIMEOUT: '600',
  BASALT_AUTH_ENABLED: 'true',
}
const server = await startServer(directory, env)
const sql = (statement: string) => runScript(directory, basalt, ['sql', statement])

const line = (id: number) =>
  `${id},track ${id},${id % 1000}.99,2026-01-02T03:04:05Z,"a, ""quoted"" text ${id % 97}"\n`

async function* body(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('id,name,price,added_at,note\n')
  for (let id = 1; id <= rows; id += 1000) {
    let text = ''
    for (let each = id; each < id + 1000 && each <= rows; each += 1) text += line(each)
    yield Buffer.from(text)
  }
}

async function importRows(token: string): Promise<number> {
  const startedAt = performance.now()
  const response = await fetch(`${server.url}/api/collections/track/import`, {
    method: 'POST',
    headers: { 'content-type': 'text/csv', authorization: `Bearer ${token}` },
    body: body(),
    duplex: 'half',
  } as RequestInit)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return (performance.now() - startedAt) / 1000
}

async function copyRows(): Promise<number> {
  const client = new pg.Client(superuserOf(server))
  await client.connect()
  const startedAt = performance.now()
  await client.query(
    `insert into track select n, 'track ' || n, n % 1000 + 0.99, '2026-01-02T03:04:05Z', 'a, "quoted" text ' || n % 97
     from generate_series(1, ${rows}) n`,
  )
  const seconds = (performance.now() - startedAt) / 1000
  await client.end()
  return seconds
}

try {
  await sql(`
    create table track (
      id int primary key, name text not null, price numeric(10, 2), added_at timestamptz, note text,
      owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid
    );
    alter table track enable row level security;
    create policy own on track using (owner_id = (select nullif(current_setting('basalt.user_id', true), '')::uuid));`)
  const account = await fetch(`${server.url}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'bench@example.com', password: 'correct horse battery' }),
  })
  const { token } = (await account.json()) as { token: string }
  const seconds = await importRows(token)
  console.log(
    `${rows} rows of CSV imported under row-level security in ${seconds.toFixed(1)} s, ${(rows / seconds).toFixed(0)} rows/s ` +
      `(target ${targetSeconds.toFixed(0)} s: ${seconds <= targetSeconds ? 'reached' : 'missed'})`,
  )
  await sql('truncate track; alter table track alter owner_id drop not null;')
  const bare = await copyRows()
  console.log(
    `the rows alone, made and inserted by PostgreSQL: ${bare.toFixed(1)} s, ${(bare / seconds).toFixed(2)} of it`,
  )
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
