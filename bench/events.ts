import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownerId, seedScript } from './cases.ts'
import { median } from './median.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Measures the cost of a listening webhook for a write: single creates a second with and without one, in alternation,
 * with medians compared. The server writes the log and does not deliver, so that the receiver and the deliveries do not
 * count.
 */
const rounds = 5
const connections = '64'
const seconds = '2'
const target = 0.8

const directory = createDirectory()
const server = await startServer(directory, {
  BASALT_WEBHOOKS_DELIVER: 'false',
})
try {
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const user = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...user])).trim()
  const admin = (await runScript(directory, basalt, ['admin', 'token'])).trim()
  const webhook = await call(server, admin, 'POST', '', { url: 'http://127.0.0.1:9/', enabled: false })
  await load(token)
  const silent: number[] = []
  const captured: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await call(server, admin, 'PATCH', `/${webhook.id}`, { enabled: false })
    silent.push(await load(token))
    await call(server, admin, 'PATCH', `/${webhook.id}`, { enabled: true })
    captured.push(await load(token))
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  const [without, with_] = [median(silent), median(captured)]
  const ratio = with_ / without
  console.log(`creates without a listener  ${without.toFixed(0)}/s`)
  console.log(`creates with a webhook      ${with_.toFixed(0)}/s`)
  console.log(
    `ratio ${ratio.toFixed(2)} (target ${target.toFixed(2)}: ${ratio >= target ? 'reached' : 'missed'})`,
  )
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}

async function load(token: string): Promise<number> {
  const script = fileURLToPath(new URL('http-load.ts', import.meta.url))
  const output = await runScript(directory, script, [server.url, token, 'create', connections, seconds])
  return (JSON.parse(output) as { rate: number }).rate
}

async function call(
  { url }: Server,
  token: string,
  method: string,
  path: string,
  body: object,
): Promise<{ id: string }> {
  const response = await fetch(`${url}/api/webhooks${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} webhooks${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { id: string }
}
