import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownerId, seedScript } from './cases.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/**
 * Measures the effect of a dead receiver with a long queue on a healthy one. First 3,000 events go to a receiver that
 * takes 50 ms. Then 100,000 deliveries are queued for a receiver that never responds, requests keep both cores in use,
 * and single events go to a healthy receiver. The result is the time from the response to the write until the delivery.
 */
const burst = 3000
const burstTargetSeconds = 20
const backlog = 100_000
const samples = 30
const medianTargetMs = 2000

const directory = createDirectory()
const server = await startServer(directory)
const receivers: HttpServer[] = []
try {
  writeFileSync(
    join(directory, 'seed.sql'),
    `${seedScript}
    create table slow (id int primary key);
    create table quick (id int primary key);
    create table dead (id int primary key);`,
  )
  await sql('--file', 'seed.sql')
  const user = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...user])).trim()
  const admin = (await runScript(directory, basalt, ['admin', 'token'])).trim()

  const slow = await receive((_id, answer) => setTimeout(answer, 50))
  await createWebhook(admin, slow.url, 'slow')
  const begunAt = performance.now()
  for (let start = 0; start < burst; start += 500) {
    const operations = Array.from({ length: 500 }, (_, n) => ({ method: 'create', body: { id: start + n } }))
    await call(token, 'collections/slow/batch', { operations })
  }
  await slow.reached(burst)
  const burstSeconds = (performance.now() - begunAt) / 1000
  console.log(
    `${burst} events to a receiver that takes 50 ms  ${burstSeconds.toFixed(1)} s ${verdict(burstSeconds, burstTargetSeconds, 's')}`,
  )

  const dead = await receive(() => undefined)
  const deadId = await createWebhook(admin, dead.url, 'dead')
  // In one statement, like the relay.
  await sql(`
    insert into basalt.webhook_queue (webhook_id, event_id, event_action, event_table, record_key, body)
    select '${deadId}', gen_random_uuid(), 'create', 'dead', md5('dead [' || n || ']')::uuid,
      '{"action":"create","table":"dead","record":{"id":' || n || '}}'
    from generate_series(1, ${backlog}) n`)
  const quickAt = new Map<number, number>()
  const quick = await receive((id, answer) => {
    quickAt.set(id, performance.now())
    answer()
  })
  await createWebhook(admin, quick.url, 'quick')
  const script = fileURLToPath(new URL('http-load.ts', import.meta.url))
  const load = runScript(directory, script, [server.url, token, 'list of 20, no total', '64', '30'])
  const waits: number[] = []
  for (let id = 1; id <= samples; id += 1) {
    const writtenAt = await call(token, 'collections/quick', { id }).then(() => performance.now())
    await quick.reached(id)
    waits.push(Math.max(0, (quickAt.get(id) ?? 0) - writtenAt))
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  const { rate } = JSON.parse(await load) as { rate: number }
  waits.sort((one, other) => one - other)
  const median = waits[Math.floor(samples / 2)] ?? 0
  console.log(
    `beside ${backlog.toLocaleString('en')} queued for a dead receiver and ${rate.toFixed(0)} lists/s:`,
  )
  console.log(
    `a healthy receiver waits ${median.toFixed(0)} ms (median), ${(waits.at(-1) ?? 0).toFixed(0)} ms (longest) ${verdict(median, medianTargetMs, 'ms')}`,
  )
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  for (const receiver of receivers) {
    receiver.closeAllConnections()
    receiver.close()
  }
  rmSync(directory, { recursive: true, force: true })
}

function verdict(measured: number, target: number, unit: string): string {
  return `(target ${target} ${unit}: ${measured <= target ? 'reached' : 'missed'})`
}

async function sql(...args: string[]): Promise<void> {
  await runScript(directory, basalt, ['sql', ...args])
}

async function call(token: string, path: string, body: object): Promise<{ id: string }> {
  const response = await fetch(`${server.url}/api/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { id: string }
}

async function createWebhook(admin: string, url: string, table: string): Promise<string> {
  return (await call(admin, 'webhooks', { url, tables: [table], secret: randomUUID() })).id
}

interface Receiver {
  readonly url: string
  /** Resolves when records with so many ids have been delivered. */
  reached(count: number): Promise<void>
}

async function receive(respond: (id: number, answer: () => void) => void): Promise<Receiver> {
  const ids = new Set<number>()
  let waiting: { readonly count: number; readonly resolve: () => void } | undefined
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { record } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { record: { id: number } }
      respond(record.id, () => response.writeHead(204).end())
      ids.add(record.id)
      if (waiting !== undefined && ids.size >= waiting.count) waiting.resolve()
    })
  })
  receivers.push(http)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    reached: (count) =>
      new Promise((resolve) => {
        waiting = { count, resolve }
        if (ids.size >= count) resolve()
      }),
  }
}
