import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createAccessTokenVerifier,
  signAccessToken,
} from '../packages/server/src/features/identity/accounts/index.ts'
import { defaultCost } from '../packages/server/src/features/identity/passwords/index.ts'
import { systemClock } from '../packages/server/src/lib/clock.ts'
import { cases, ownerId, seedScript } from './cases.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/**
 * Measures sign-ins and refreshes a second over HTTP, and the cost of verifying a token. The server and this client
 * share the machine; Argon2 uses all cores but one.
 */
const users = 8
/** Number of refreshing connections, each with a session of its own, and of reading ones. */
const connections = 32
const rounds = 3
const seconds = 2
const password = 'tangerine-harbour-42'

const directory = createDirectory()
const server = await startServer(directory, { BASALT_AUTH_LIMITS_LOGIN_FAILURES_PER_ADDRESS: '1000000' })
try {
  const emails = Array.from({ length: users }, (_, n) => `bench${n}@example.com`)
  await Promise.all(emails.map((email) => post('register', { email, password })))
  const logins = await measure(users, (n) => post('login', { email: emails[n], password }))
  const [email] = emails
  const sessions = await Promise.all(
    Array.from({ length: connections }, () => post('login', { email, password })),
  )
  const tokens = sessions.map(({ refreshToken }) => refreshToken)
  writeFileSync(join(directory, 'seed.sql'), seedScript)
  await runScript(directory, basalt, ['sql', '--file', 'seed.sql'])
  const reader = await runScript(directory, basalt, [
    'admin',
    'token',
    '--user',
    ownerId,
    '--seconds',
    '3600',
  ])
  const ratios: { refreshes: number; reads: number; ratio: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const refreshes = await measureRefreshes(tokens)
    const reads = await measureReads(reader.trim())
    ratios.push({ refreshes, reads, ratio: refreshes / reads })
  }
  const median = ratios.toSorted((one, other) => one.ratio - other.ratio)[Math.floor(rounds / 2)]
  const { memoryKib, passes, lanes } = defaultCost
  console.log(`Argon2id ${memoryKib} KiB, ${passes} passes, ${lanes} lane`)
  console.log(`logins      ${logins.toFixed(0)}/s`)
  console.log(
    `refreshes   ${median?.refreshes.toFixed(0)}/s, ${median?.ratio.toFixed(2)} of ${median?.reads.toFixed(0)} reads of one row a second (target 0.25)`,
  )
  console.log(`verify      ${verifyMicros(false).toFixed(1)} µs a token never seen before`)
  console.log(`            ${verifyMicros(true).toFixed(2)} µs a token seen before`)
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}

/** Repeats the work in so many lanes; returns the rate per second. */
async function measure(lanes: number, work: (lane: number) => Promise<unknown>): Promise<number> {
  const end = performance.now() + seconds * 1000
  let count = 0
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (performance.now() < end) {
        await work(lane)
        count += 1
      }
    }),
  )
  return count / seconds
}

/** Returns the refreshes a second over keep-alive connections. The array receives the last tokens. */
async function measureRefreshes(tokens: string[]): Promise<number> {
  const url = new URL(server.url)
  return await measureConnections((connection, lane, again) => {
    const body = JSON.stringify({ refreshToken: tokens[lane] })
    const request = renderRequest(url, '', { method: 'POST', path: '/api/auth/refresh', body })
    const receive = (answer: string) => {
      tokens[lane] = (JSON.parse(answer) as { refreshToken: string }).refreshToken
      again()
    }
    connection.send(request, receive, true)
  })
}

async function measureReads(token: string): Promise<number> {
  const oneRow = cases.find(({ name }) => name === 'one row')
  if (oneRow === undefined) throw new Error('no case of one row')
  const url = new URL(server.url)
  const requests = Array.from({ length: 1000 }, (_, n) => renderRequest(url, token, oneRow.request(n)))
  let sent = 0
  return await measureConnections((connection, _lane, again) =>
    connection.send(requests[sent++ % requests.length] ?? Buffer.alloc(0), again),
  )
}

/** Repeats a request on each of the connections; returns the responses a second. */
async function measureConnections(
  send: (connection: RawConnection, lane: number, again: () => void) => void,
): Promise<number> {
  const startedAt = performance.now()
  let count = 0
  await Promise.all(
    Array.from(
      { length: connections },
      (_, lane) =>
        new Promise<void>((resolve) => {
          const connection = new RawConnection(new URL(server.url))
          const next = () =>
            send(connection, lane, () => {
              count += 1
              if (performance.now() - startedAt < seconds * 1000) next()
              else {
                connection.close()
                resolve()
              }
            })
          next()
        }),
    ),
  )
  return (count / (performance.now() - startedAt)) * 1000
}

async function post(path: string, body: object): Promise<{ refreshToken: string }> {
  const response = await fetch(`${server.url}/api/auth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { refreshToken: string }
}

function verifyMicros(isKnown: boolean): number {
  const keys = { secret: 'a-secret-of-at-least-thirty-two-characters', clock: systemClock }
  const verifier = createAccessTokenVerifier(keys)
  const known = { aal: 'aal1', amr: ['password'], is_anonymous: false } as const
  const claims = { email: 'ada@example.com', email_verified: true, ...known }
  const tokens = Array.from({ length: 20_000 }, (_, n) => {
    const sub = `00000000-0000-4000-8000-${String(isKnown ? 0 : n).padStart(12, '0')}`
    return signAccessToken({ ...claims, sub }, 900, keys)
  })
  const begunAt = performance.now()
  for (const token of tokens) void verifier.verify(token)
  return ((performance.now() - begunAt) / tokens.length) * 1000
}
