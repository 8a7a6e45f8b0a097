import { rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { ownerId } from './cases.ts'
import { basalt, createDirectory, runScript, type Server, startServer, superuserOf } from './server.ts'

/**
 * Measures megabytes a second of an export under row-level security, against the same COPY sent directly to the same
 * PostgreSQL. The bytes of the latter are only counted. Rounds alternate between the two.
 */
const rowCount = 300_000
const rounds = 3
/** Bytes of the end of a response, which may arrive in pieces. */
const tailBytes = 64

const columns = 'id, owner_id, title, done, priority, estimate, created_at, note'
const seedScript = `
create table bench_export (
  id bigint primary key,
  owner_id uuid not null,
  title text not null,
  done boolean not null,
  priority int not null,
  estimate numeric(8, 2),
  created_at timestamptz not null,
  note text
);
insert into bench_export
select n, '${ownerId}', 'Task number ' || n || ' of the benchmark', n % 3 = 0, n % 10, n % 1000 * 0.25,
  timestamptz '2026-01-01' + n * interval '1 minute', repeat(md5(n::text), 6)
from generate_series(1, ${rowCount}) n;
alter table bench_export enable row level security;
create policy own on bench_export using (owner_id = basalt.user_id());
analyze bench_export;
`

const formats = {
  csv: `copy (select ${columns} from bench_export order by id) to stdout (format csv, header)`,
  json: `copy (select row_to_json(t) from (select ${columns} from bench_export order by id) t) to stdout`,
  ndjson: `copy (select row_to_json(t) from (select ${columns} from bench_export order by id) t) to stdout`,
} as const

interface Transfer {
  readonly bytes: number
  readonly ms: number
}

const directory = createDirectory()
const server = await startServer(directory)
try {
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const token = (await runScript(directory, basalt, ['admin', 'token', '--user', ownerId])).trim()
  for (const [format, command] of Object.entries(formats)) {
    const transfers = { http: [] as Transfer[], bare: [] as Transfer[] }
    for (let round = 0; round < rounds; round += 1) {
      transfers.http.push(await exportOverHttp(server, token, format))
      transfers.bare.push(await copyBare(server, command))
    }
    const [http, bare] = [median(transfers.http), median(transfers.bare)]
    process.stdout.write(
      `${format.padEnd(8)} ${describe(http)}, bare COPY ${describe(bare)}, ratio of times ${(bare.ms / http.ms).toFixed(2)}\n`,
    )
  }
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}

async function exportOverHttp({ url }: Server, token: string, format: string): Promise<Transfer> {
  const { host, hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const head = [
    `GET /api/collections/bench_export/export.${format} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    'Connection: close',
  ]
  return await count(socket, Buffer.from(`${head.join('\r\n')}\r\n\r\n`), (tail) =>
    tail.includes('\r\n0\r\n'),
  )
}

/** Runs the COPY directly. Earlier statements set the caller's role and claims; their responses have a few bytes. */
async function copyBare(server: Server, command: string): Promise<Transfer> {
  const client = new pg.Client(superuserOf(server))
  await client.connect()
  // Nothing parses the bytes from here on. The types of the driver do not list the member.
  const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection
  socket.removeAllListeners('data')
  const claims = `set role basalt_authenticated; set basalt.user_id = '${ownerId}'; set timezone = 'UTC'; `
  const text = Buffer.from(`${claims}${command}\0`)
  const query = Buffer.alloc(5)
  query.write('Q')
  query.writeInt32BE(4 + text.length, 1)
  return await count(socket, Buffer.concat([query, text]), isReady)
}

/** Returns true for ReadyForQuery, the last message of a response (PostgreSQL, Message Formats). */
function isReady(tail: Buffer): boolean {
  return tail.subarray(-6, -1).equals(Buffer.from('Z\0\0\0\x05'))
}

async function count(socket: Socket, request: Buffer, isEnd: (tail: Buffer) => boolean): Promise<Transfer> {
  const startedAt = performance.now()
  let bytes = 0
  let tail = Buffer.alloc(0)
  socket.write(request)
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject).once('close', () => reject(new Error(`cut off after ${tail}`)))
    socket.on('data', (chunk) => {
      bytes += chunk.length
      tail = Buffer.concat([tail, chunk.subarray(-tailBytes)]).subarray(-tailBytes)
      if (isEnd(tail)) resolve()
    })
  })
  socket.removeAllListeners('close')
  socket.destroy()
  return { bytes, ms: performance.now() - startedAt }
}

function median(transfers: readonly Transfer[]): Transfer {
  const sorted = transfers.toSorted((one, other) => one.ms - other.ms)
  return sorted[Math.floor(sorted.length / 2)] ?? { bytes: 0, ms: 0 }
}

function describe({ bytes, ms }: Transfer): string {
  return `${(bytes / 1e6).toFixed(0)} MB at ${(bytes / 1e3 / ms).toFixed(0)} MB/s`
}
