import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ownerId } from './cases.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/**
 * Measures deliveries a second of messages to the devices of one user, through a stand-in for FCM in this process.
 */
const devices = 10_000
const targetPerSecond = 1000

const directory = createDirectory()
let received = 0
const fcm = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/token') response.end('{"access_token":"t","expires_in":3600}')
    else {
      received += 1
      response.end('{"name":"m"}')
    }
  })
})
fcm.listen(0, '127.0.0.1')
await once(fcm, 'listening')
// A server on a port has an address of this form.
const fcmUrl = `http://127.0.0.1:${(fcm.address() as AddressInfo).port}`
const account = {
  project_id: 'bench',
  client_email: 'bench@example.com',
  private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }),
  token_uri: `${fcmUrl}/token`,
}
const credentials = join(directory, 'account.json')
writeFileSync(credentials, JSON.stringify(account))
const server = await startServer(directory, {
  BASALT_PUSH_ENABLED: 'true',
  BASALT_PUSH_FCM_CREDENTIALS_FILE: credentials,
  BASALT_PUSH_FCM_BASE_URL: fcmUrl,
})
try {
  const appId = '00000000-0000-0000-0000-000000000000'
  await runScript(directory, basalt, [
    'sql',
    `insert into basalt.users (id) values ('${ownerId}') on conflict do nothing;
     insert into basalt.push_devices (app_id, user_id, provider, platform, token, token_hash)
     select '${appId}', '${ownerId}', 'fcm', 'android', 't' || n, sha256(('t' || n)::bytea)
     from generate_series(1, ${devices}) n`,
  ])
  const token = (await runScript(directory, basalt, ['admin', 'token'])).trim()
  const begunAt = performance.now()
  const response = await fetch(`${server.url}/api/admin/push/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ app_id: appId, user_id: ownerId, title: 'Hello', body: 'there' }),
  })
  if (!response.ok) throw new Error(await response.text())
  await response.arrayBuffer()
  const answeredAt = performance.now()
  const deadline = begunAt + 120_000
  while (received < devices && performance.now() < deadline) await delay(20)
  const perSecond = (received / (performance.now() - begunAt)) * 1000
  const verdict = perSecond >= targetPerSecond ? 'reached' : 'missed'
  console.log(`a message to ${devices} devices is answered after ${Math.round(answeredAt - begunAt)} ms`)
  console.log(`${Math.round(perSecond)} deliveries a second (target ${targetPerSecond}: ${verdict})`)
} finally {
  const stopped = once(server.process, 'exit')
  server.process.kill()
  await stopped
  fcm.close()
  rmSync(directory, { recursive: true, force: true })
}
