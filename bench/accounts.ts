import { rmSync } from 'node:fs'
import {
  createAccessTokenVerifier,
  signAccessToken,
} from '../packages/server/src/features/identity/accounts/index.ts'
import { defaultCost } from '../packages/server/src/features/identity/passwords/index.ts'
import { systemClock } from '../packages/server/src/lib/clock.ts'
import { createDirectory, startServer } from './server.ts'

/**
 * Sign-ins and refreshes a second over HTTP, and what a token costs to verify. The server and this client share the
 * machine; Argon2 works on all cores but one.
 */
const users = 8
const seconds = 5
const password = 'tangerine-harbour-42'

const directory = createDirectory()
const server = await startServer(directory, { BASALT_AUTH_LIMITS_LOGIN_FAILURES_PER_ADDRESS: '1000000' })
try {
  const emails = Array.from({ length: users }, (_, n) => `bench${n}@example.com`)
  const tokens = await Promise.all(
    emails.map(async (email) => (await post('register', { email, password })).refreshToken),
  )
  const logins = await measure(users, (n) => post('login', { email: emails[n], password }))
  const refreshes = await measure(users, async (n) => {
    tokens[n] = (await post('refresh', { refreshToken: tokens[n] })).refreshToken
  })
  const { memoryKib, passes, lanes } = defaultCost
  console.log(`Argon2id ${memoryKib} KiB, ${passes} passes, ${lanes} lane`)
  console.log(`logins      ${logins.toFixed(0)}/s`)
  console.log(`refreshes   ${refreshes.toFixed(0)}/s`)
  console.log(`verify      ${verifyMicros(false).toFixed(1)} µs a token never seen before`)
  console.log(`            ${verifyMicros(true).toFixed(2)} µs a token seen before`)
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}

/** Repeats the work in so many lanes; how often a second it was done. */
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
