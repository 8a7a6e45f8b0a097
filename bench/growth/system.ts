import { rmSync } from 'node:fs'
import pg from 'pg'
import { basalt, createDirectory, runScript, startServer, superuserOf } from '../server.ts'
import type { GrowthOptions } from './section.ts'
import { bigUser, fillSystemTables, record, smallUser, webhook } from './system-rows.ts'

/** Lists, searches and counts of the administration, each a path. */
export const requests: Readonly<Record<string, string>> = {
  'users: first page with total': '/admin/users',
  'users: first page, total estimated beyond 100,000': '/admin/users?total=estimated',
  'users: search by beginning (many)': '/admin/users?search=user12',
  'users: search by beginning (few)': '/admin/users?search=user1234',
  'users: search in the middle (many)': '/admin/users?search=1.exa',
  'users: search in the middle (few)': '/admin/users?search=234.',
  'users: search in the middle (none)': '/admin/users?search=qqqqq',
  'users: with a second factor (none)': '/admin/users?factor=true',
  'users: of a provider (none)': '/admin/users?provider=google',
  'users: disabled (none)': '/admin/users?disabled=true',
  'sessions of a user': `/admin/users/${smallUser}/sessions`,
  'deletion of a user with many rows': `/admin/users/${bigUser}/deletion`,
  'requests: newest': '/admin/analytics/requests',
  'requests: of a big user': `/admin/analytics/requests?user_id=${bigUser}`,
  'requests: of a small user': `/admin/analytics/requests?user_id=${smallUser}`,
  'requests: of an unknown user': '/admin/analytics/requests?user_id=10000000-0000-4000-8000-000000000000',
  'requests: status 500': '/admin/analytics/requests?status=500',
  'requests: status 5xx': '/admin/analytics/requests?status=5xx',
  'requests: status 503 (none)': '/admin/analytics/requests?status=503',
  'requests: by path (none)': '/admin/analytics/requests?path=/api/nothing*',
  'requests: slow (none)': '/admin/analytics/requests?min_duration_ms=5000',
  'requests: of an API key (none)':
    '/admin/analytics/requests?api_key_id=10000000-0000-4000-8000-000000000000',
  'latency: last hour': '/admin/analytics/latency?step=minute',
  'audit: newest': '/admin/audit',
  'audit: of a record': `/admin/audit?table=note&record_id=${record}`,
  'audit: of a big user': `/admin/audit?user_id=${bigUser}`,
  'audit: of a small user': `/admin/audit?user_id=${smallUser}`,
  'audit: by action (none)': '/admin/audit?action=webhooks.create',
  'audit: of a request': '/admin/audit?request_id=request-7',
  'logs: newest': '/admin/logs',
  'logs: level error': '/admin/logs?level=error',
  'logs: by text (many)': '/admin/logs?q=mail',
  'logs: by text (none)': '/admin/logs?q=nothing-like-it',
  'jobs: newest': '/admin/jobs',
  'jobs: counts by state': '/admin/jobs/stats',
  'jobs: failed': '/admin/jobs?state=failed',
  'jobs: running (none)': '/admin/jobs?state=running',
  'jobs: of a type (none)': '/admin/jobs?type=nothing',
  'events: newest': '/admin/events',
  'events: of a record': `/admin/events?table=note&record=${record}`,
  'events: of a big user': `/admin/events?user_id=${bigUser}`,
  'events: of a small user': `/admin/events?user_id=${smallUser}`,
  'webhook deliveries: newest': `/webhooks/${webhook}/deliveries`,
  'webhook deliveries: failed': `/webhooks/${webhook}/deliveries?failed_only=true`,
  'text messages: newest': '/admin/sms/messages',
  'tickets: open': '/admin/support/tickets?status=open',
  'push devices: newest': '/admin/push/devices',
  'push deliveries: failed': '/admin/push/deliveries?status=failed',
  'push message with its counts': `/admin/push/sends/${webhook}`,
  'runs of SQL: newest': '/admin/sql/runs',
}

/** Prints the milliseconds of each request at each size of the system tables, one request at a time. */
export async function measureSystem({ sizes, rounds }: GrowthOptions): Promise<void> {
  const columns: Map<string, number>[] = []
  for (const rows of sizes) columns.push(await measureSize(rows, rounds))
  console.log(`| ms | ${sizes.map((rows) => rows.toLocaleString('en')).join(' | ')} | ratio |`)
  console.log(`|---|${'---|'.repeat(sizes.length + 1)}`)
  for (const name of Object.keys(requests)) {
    const times = columns.map((column) => column.get(name) ?? Number.NaN)
    const ratio = (times.at(-1) ?? Number.NaN) / (times[0] ?? Number.NaN)
    console.log(`| ${name} | ${times.map((time) => time.toFixed(1)).join(' | ')} | ${ratio.toFixed(1)} |`)
  }
}

async function measureSize(rows: number, rounds: number): Promise<Map<string, number>> {
  const directory = createDirectory()
  const server = await startServer(directory, { BASALT_SUPPORT_ENABLED: 'true', BASALT_PUSH_ENABLED: 'true' })
  try {
    const client = new pg.Client(superuserOf(server))
    await client.connect()
    for (const statement of fillSystemTables(rows)) await client.query(statement)
    await client.end()
    const token = (await runScript(directory, basalt, ['admin', 'token'])).trim()
    return await timeRequests(server.url, token, rounds)
  } finally {
    server.process.kill('SIGTERM')
    await new Promise((resolve) => server.process.once('exit', resolve))
    rmSync(directory, { recursive: true, force: true })
  }
}

export async function timeRequests(url: string, token: string, rounds: number): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  for (const [name, path] of Object.entries(requests)) {
    times.set(name, await time(`${url}/api${path}`, token, rounds))
  }
  return times
}

/** Returns the median of so many rounds of five, after two requests that warm up. */
async function time(url: string, token: string, rounds: number): Promise<number> {
  const times: number[] = []
  for (let n = -2; n < rounds * 5; n += 1) {
    const begunAt = performance.now()
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const body = await response.text()
    if (response.status === 400 && body.includes('unknown_parameter')) return Number.NaN
    if (!response.ok) throw new Error(`${url}: ${response.status} ${body}`)
    if (n >= 0) times.push(performance.now() - begunAt)
  }
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.NaN
}
