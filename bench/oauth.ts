import { createHash, randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownerId, seedScript } from './cases.ts'
import { pairedRequest } from './paired.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/**
 * Measures exchanges a second at the token endpoint, and requests for data with the opaque token of a client against
 * those with the token of a session. The server and this client share the machine.
 */
const connections = 32
const rounds = 5
const seconds = 2
const callback = 'https://client.example.com/callback'
const adminPassword = 'a password of the benchmark'

const directory = createDirectory()
const server = await startServer(directory, {
  BASALT_AUTH_OAUTH_PROVIDER_ENABLED: 'true',
  BASALT_ADMIN_PASSWORD: adminPassword,
})
const url = new URL(server.url)
try {
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const insert = `insert into basalt.users (id, email) values ('${ownerId}', 'bench@example.com')`
  await runScript(directory, basalt, ['sql', insert])
  const made = await runScript(directory, basalt, [
    ...['admin', 'token', '--user', ownerId, '--seconds', '3600'],
  ])
  const session = made.trim()
  const admin = (await post('/api/admin/auth', { password: adminPassword })).token
  const app = await post('/api/admin/apps', { name: 'bench', ownerUserId: ownerId }, admin)
  const registration = { appId: app.id, name: 'bench', redirectUris: [callback], scopes: ['*'] }
  const { client, clientSecret } = await post('/api/admin/oauth/clients', registration, admin)
  const credentials = { client_id: client.clientId, client_secret: clientSecret }
  const tokens = await Promise.all(Array.from({ length: connections }, () => obtain(session, credentials)))
  const opaque = tokens[0]?.access_token ?? ''

  const refreshTokens = tokens.map(({ refresh_token }) => refresh_token)
  const refreshes = await best(() =>
    measure((connection, lane, again) => {
      const form = { grant_type: 'refresh_token', refresh_token: refreshTokens[lane] ?? '', ...credentials }
      const receive = (answer: string) => {
        refreshTokens[lane] = JSON.parse(answer).refresh_token
        again()
      }
      connection.send(renderForm(form), receive, true)
    }),
  )
  const ownForm = renderForm({ grant_type: 'client_credentials', scope: 'readonly', ...credentials })
  const own = await best(() => measure((connection, _lane, again) => connection.send(ownForm, again)))
  console.log(`refreshes           ${refreshes.toFixed(0)}/s (target 500)`)
  console.log(`client credentials  ${own.toFixed(0)}/s (target 500)`)

  const load = (token: string) => {
    const requests = Array.from({ length: 1000 }, (_, n) =>
      renderRequest(url, token, pairedRequest.request(n)),
    )
    let sent = 0
    return measure((connection, _lane, again) =>
      connection.send(requests[sent++ % requests.length] ?? Buffer.alloc(0), again),
    )
  }
  await load(opaque)
  const ratios: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2 === 0 ? session : opaque
    const rate = await load(first)
    const other = await load(first === session ? opaque : session)
    ratios.push(first === session ? other / rate : rate / other)
  }
  const ratio = ratios.toSorted((one, other) => one - other)[Math.floor(rounds / 2)] ?? 0
  console.log(`opaque token        ${ratio.toFixed(3)} of the rate with a JWT (target 0.95)`)
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}

/** Returns the best of a few rounds: the rate of the machine without other load. */
async function best(round: () => Promise<number>): Promise<number> {
  const rates: number[] = []
  for (let count = 0; count < 3; count += 1) rates.push(await round())
  return Math.max(...rates)
}

/** Repeats a request on each of the connections; returns the responses a second. */
async function measure(
  send: (connection: RawConnection, lane: number, again: () => void) => void,
): Promise<number> {
  const startedAt = performance.now()
  let count = 0
  await Promise.all(
    Array.from(
      { length: connections },
      (_, lane) =>
        new Promise<void>((resolve) => {
          const connection = new RawConnection(url)
          const next = () =>
            send(connection, lane, () => {
              count += 1
              if (performance.now() - startedAt < seconds * 1000) return next()
              connection.close()
              resolve()
            })
          next()
        }),
    ),
  )
  return (count / (performance.now() - startedAt)) * 1000
}

function renderForm(form: Readonly<Record<string, string>>): Buffer {
  const body = String(new URLSearchParams(form))
  return Buffer.from(
    `POST /api/auth/token HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  )
}

/** Obtains tokens of the client for the user. */
async function obtain(session: string, credentials: Readonly<Record<string, string>>) {
  const verifier = randomBytes(32).toString('base64url')
  const consent = {
    decision: 'approve',
    response_type: 'code',
    client_id: credentials.client_id,
    redirect_uri: callback,
    scope: '*',
    state: 'bench',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  const { redirect_to } = await post('/api/auth/authorize/consent', consent, session)
  const code = new URL(redirect_to).searchParams.get('code') ?? ''
  const response = await fetch(`${server.url}/api/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier },
      ...credentials,
    }),
  })
  return (await response.json()) as { access_token: string; refresh_token: string }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of several endpoints, of which the members are named above
async function post(path: string, body: object, token?: string): Promise<any> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return await response.json()
}
