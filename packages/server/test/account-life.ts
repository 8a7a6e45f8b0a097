import { randomInt } from 'node:crypto'
import { type AccountNodes, mailedToken } from './account-nodes.ts'
import { type AccountsApp, claimsOf, goodPassword, type SignedIn } from './accounts.ts'
import type { TestResponse } from './test-app.ts'

/** Expected state of an account. */
interface Account {
  readonly id: string
  email: string | undefined
  isVerified: boolean
  isAnonymous: boolean
  /** True if the account was anonymous once. */
  isLinked: boolean
  password: string | undefined
  readonly phone: string | undefined
  isDisabled: boolean
}

/** Interval of an event: between sending the request and receiving its response, in milliseconds. */
interface Moment {
  from: number
  to: number
}

interface Session {
  readonly id: string
  readonly account: Account
  readonly tokens: { readonly text: string; readonly isAnonymous: boolean }[]
  /** Refresh tokens, one per generation. */
  readonly refreshTokens: string[]
  /** Time of the replacement of each generation but the last. */
  readonly rotations: Moment[]
  userAgent: string
  /** Time of the last sign-in or refresh of this account. */
  lastActive: number
  ended: { readonly at: number; readonly node: AccountsApp | undefined } | undefined
}

/**
 * Expected verdict of a node on an access token: a session that ended on another node is rejected within two seconds.
 */
type Verdict = 'alive' | 'dead' | 'either'

const worstDelayMs = 2500
const graceMs = 10_000
/**
 * Time by which a check must precede the end of the grace period. A slower request would make a right response seem wrong.
 */
const marginMs = 4000
const rememberedRotations = 16

type Step = (life: Life) => Promise<void>

/** Random steps of a few users on two nodes. After each step the outcome is compared with the model. */
export class Life {
  readonly nodes: AccountNodes
  readonly #name: string
  readonly #random: () => number
  readonly #admin: string
  readonly accounts: Account[] = []
  readonly sessions: Session[] = []
  readonly trace: string[] = []
  #activity = 0

  constructor(nodes: AccountNodes, options: { name: string; seed: number; adminToken: string }) {
    this.nodes = nodes
    this.#name = options.name
    this.#random = mulberry32(options.seed)
    this.#admin = options.adminToken
  }

  /** @throws Error that lists the last steps when the outcome differs from the model */
  async run(steps: number): Promise<void> {
    for (let count = 0; count < steps; count += 1) {
      const [name, step] = this.#pickStep()
      this.note(name)
      try {
        await step(this)
        if (count % 50 === 49 || count === steps - 1) await this.compareDatabase()
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new Error(`step ${count}: ${reason}\nlast steps:\n${this.trace.slice(-25).join('\n')}`)
      }
    }
  }

  #pickStep(): readonly [string, Step] {
    let rest = this.#random() * totalWeight
    for (const [name, weight, step] of steps) {
      rest -= weight
      if (rest < 0) return [name, step]
    }
    throw new Error('no step')
  }

  note(text: string): void {
    this.trace.push(text)
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  index(length: number): number {
    return Math.floor(this.#random() * length)
  }

  pick<Value>(values: readonly Value[]): Value | undefined {
    return values[this.index(values.length)]
  }

  node(): AccountsApp {
    return this.chance(0.5) ? this.nodes.first : this.nodes.second
  }

  /** Chooses one of the two clients. */
  userAgent(): string {
    return this.chance(0.5) ? 'One/1.0' : 'Two/2.0'
  }

  email(): string {
    return `${this.#name}-${this.pick(['a', 'b', 'c'])}@example.com`
  }

  phone(): string {
    return `+1202555${this.#name}`
  }

  ownerOf(email: string): Account | undefined {
    return this.accounts.find((account) => account.email === email)
  }

  alive(): Session[] {
    return this.sessions.filter(({ ended }) => ended === undefined)
  }

  sessionsOf(account: Account): Session[] {
    return this.alive().filter((session) => session.account === account)
  }

  async send(
    node: AccountsApp,
    method: string,
    path: string,
    options: { token?: string | undefined; body?: unknown; userAgent?: string } = {},
  ): Promise<TestResponse> {
    const { userAgent, ...rest } = options
    const headers = userAgent === undefined ? {} : { headers: { 'user-agent': userAgent } }
    const response = await node.app.request(method, path, { ...rest, ...headers })
    const where = node === this.nodes.first ? 1 : 2
    this.note(`  ${where}: ${method} ${path} ${JSON.stringify(rest.body ?? '')} → ${response.status}`)
    return response
  }

  asAdmin(method: string, path: string): Promise<TestResponse> {
    return this.send(this.node(), method, path, { token: this.#admin })
  }

  /** Records the new session of an authentication response. */
  begin(response: TestResponse, account: Account, userAgent: string): void {
    const { token, refreshToken, user }: SignedIn = response.json
    expectSame('user', user, describe(account, user))
    const claims = claimsOf(token)
    expectSame(
      'claims',
      [claims.sub, claims.email, claims.is_anonymous],
      [account.id, account.email ?? '', account.isAnonymous],
    )
    this.sessions.push({
      id: String(claims.sid),
      account,
      tokens: [{ text: token, isAnonymous: account.isAnonymous }],
      refreshTokens: [refreshToken],
      rotations: [],
      userAgent,
      lastActive: this.nextActivity(),
      ended: undefined,
    })
  }

  nextActivity(): number {
    this.#activity += 1
    return this.#activity
  }

  end(sessions: readonly Session[], node?: AccountsApp): void {
    for (const session of sessions) session.ended ??= { at: performance.now(), node }
  }

  remove(account: Account, node?: AccountsApp): void {
    this.end(this.sessionsOf(account), node)
    this.accounts.splice(this.accounts.indexOf(account), 1)
  }

  verdict(session: Session, node: AccountsApp): Verdict {
    const { ended } = session
    if (ended === undefined) return 'alive'
    return ended.node === node || performance.now() - ended.at > worstDelayMs ? 'dead' : 'either'
  }

  /** Compares the rows of this account with the model. */
  async compareDatabase(): Promise<void> {
    const ids = new Set([
      ...this.accounts.map(({ id }) => id),
      ...this.sessions.map(({ account }) => account.id),
    ])
    const users = await this.nodes.sql(
      `select id, email, email_verified_at is not null as verified, is_anonymous, phone,
         password_hash is not null as has_password, disabled_at is not null as disabled
       from basalt.users where id = any($1) or email like $2 or phone = $3 order by id`,
      [[...ids], `${this.#name}-%`, this.phone()],
    )
    const accounts = this.accounts.map((account) => ({
      id: account.id,
      email: account.email ?? null,
      verified: account.isVerified,
      is_anonymous: account.isAnonymous,
      phone: account.phone ?? null,
      has_password: account.password !== undefined,
      disabled: account.isDisabled,
    }))
    expectSame(
      'stored users',
      users,
      accounts.sort((a, b) => (a.id < b.id ? -1 : 1)),
    )
    const sessions = await this.nodes.sql(
      'select id, user_id, generation from basalt.sessions where user_id = any($1) order by id',
      [[...ids]],
    )
    const alive = this.alive().map(({ id, account, refreshTokens }) => ({
      id,
      user_id: account.id,
      generation: refreshTokens.length,
    }))
    expectSame(
      'stored sessions',
      sessions,
      alive.sort((a, b) => (a.id < b.id ? -1 : 1)),
    )
  }
}

/** Returns the expected user object; the times are the server's. */
function describe(account: Account, { createdAt, updatedAt, linked_at }: Record<string, unknown>) {
  return {
    id: account.id,
    email: account.email ?? '',
    emailVerified: account.isVerified,
    ...(account.phone === undefined ? {} : { phone: account.phone }),
    is_anonymous: account.isAnonymous,
    ...(account.isLinked ? { linked_at: linked_at ?? 'missing' } : {}),
    createdAt,
    updatedAt,
  }
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(expected))]
  if (one !== other) throw new Error(`${what}: got ${one}, expected ${other}`)
}

/** Sorts members alphabetically. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

function expectStatus(response: TestResponse, ...statuses: readonly number[]): void {
  if (statuses.includes(response.status)) return
  throw new Error(`got ${response.status} ${response.text}, expected ${statuses.join(' or ')}`)
}

async function getMe(life: Life): Promise<void> {
  const session = life.pick(life.chance(0.7) ? life.alive() : life.sessions)
  const token = life.pick(session?.tokens ?? [])
  if (session === undefined || token === undefined) return
  const node = life.node()
  const { account } = session
  const isThere = life.accounts.includes(account) && !account.isDisabled
  const verdict = isThere ? life.verdict(session, node) : 'dead'
  const response = await life.send(node, 'GET', '/api/auth/me', { token: token.text })
  expectStatus(response, ...(verdict === 'alive' ? [200] : verdict === 'dead' ? [401] : [200, 401]))
  if (response.status === 200) expectSame('me', response.json, describe(account, response.json))
}

async function listSessions(life: Life): Promise<void> {
  const session = life.pick(life.chance(0.9) ? life.alive() : life.sessions)
  const token = life.pick(session?.tokens ?? [])
  if (session === undefined || token === undefined) return
  const node = life.node()
  const verdict = life.verdict(session, node)
  const response = await life.send(node, 'GET', '/api/auth/sessions', { token: token.text })
  expectStatus(response, ...(verdict === 'alive' ? [200] : verdict === 'dead' ? [401] : [200, 401]))
  if (response.status !== 200) return
  const listed = response.json.map(({ id, user_agent, ip_address, current }: Record<string, unknown>) => ({
    id,
    user_agent,
    ip_address,
    current,
  }))
  const expected = life
    .sessionsOf(session.account)
    .sort((a, b) => b.lastActive - a.lastActive)
    .map(({ id, userAgent }) => ({
      id,
      user_agent: userAgent,
      ip_address: '127.0.0.1',
      current: id === session.id,
    }))
  expectSame('sessions', listed, expected)
}

async function refresh(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  if (session === undefined) return
  // Sometimes more often than a session remembers.
  const times = life.chance(0.01) ? rememberedRotations + 2 : 1
  for (let count = 0; count < times; count += 1) await refreshOnce(life, session)
}

async function refreshOnce(life: Life, session: Session): Promise<void> {
  const userAgent = life.userAgent()
  const moment = { from: performance.now(), to: 0 }
  const body = { refreshToken: session.refreshTokens.at(-1) }
  const response = await life.send(life.node(), 'POST', '/api/auth/refresh', { body, userAgent })
  expectStatus(response, 200)
  moment.to = performance.now()
  const { token, refreshToken, user }: SignedIn = response.json
  expectSame('user', user, describe(session.account, user))
  expectSame('session', claimsOf(token).sid, session.id)
  if (session.refreshTokens.includes(refreshToken)) throw new Error('the refresh token was not replaced')
  session.tokens.push({ text: token, isAnonymous: session.account.isAnonymous })
  session.refreshTokens.push(refreshToken)
  session.rotations.push(moment)
  session.userAgent = userAgent
  session.lastActive = life.nextActivity()
}

/**
 * Replays an old refresh token: within the grace period it gets the same successor, afterwards it ends the session.
 */
async function replay(life: Life): Promise<void> {
  const candidates = life.alive().filter(({ rotations }) => rotations.length > 0)
  const session = life.pick(candidates)
  if (session === undefined) return
  const index = life.chance(0.7) ? session.rotations.length - 1 : life.index(session.rotations.length)
  const rotation = session.rotations[index]
  if (rotation === undefined) return
  const now = performance.now()
  const isRemembered = session.rotations.length - index <= rememberedRotations
  const isFresh = isRemembered && now + marginMs - rotation.from < graceMs
  const isLate = !isRemembered || now - rotation.to > graceMs
  if (!isFresh && !isLate) return
  const node = life.node()
  const body = { refreshToken: session.refreshTokens[index] }
  const response = await life.send(node, 'POST', '/api/auth/refresh', { body, userAgent: 'Replay/1.0' })
  expectStatus(response, isFresh ? 200 : 401)
  if (isLate) {
    life.end([session], node)
    return
  }
  const { token, refreshToken }: SignedIn = response.json
  expectSame('successor', refreshToken, session.refreshTokens[index + 1])
  expectSame('session', claimsOf(token).sid, session.id)
  session.tokens.push({ text: token, isAnonymous: session.account.isAnonymous })
}

async function refreshEnded(life: Life): Promise<void> {
  const session = life.pick(life.sessions.filter(({ ended }) => ended !== undefined))
  const refreshToken = life.pick(session?.refreshTokens ?? [])
  if (refreshToken === undefined) return
  expectStatus(await life.send(life.node(), 'POST', '/api/auth/refresh', { body: { refreshToken } }), 401)
}

/** Backdates the rotations of a session beyond the grace period. */
async function age(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  if (session === undefined) return
  await life.nodes.sql(
    `update basalt.sessions set rotations = array(select unnest(rotations) - interval '11 seconds') where id = $1`,
    [session.id],
  )
  for (const rotation of session.rotations) {
    rotation.from -= 11_000
    rotation.to -= 11_000
  }
}

async function logOut(life: Life): Promise<void> {
  const session = life.pick(life.chance(0.8) ? life.alive() : life.sessions)
  const refreshToken = life.pick(session?.refreshTokens ?? [])
  if (session === undefined) return
  const node = life.node()
  expectStatus(await life.send(node, 'POST', '/api/auth/logout', { body: { refreshToken } }), 204)
  life.end([session], node)
}

async function revokeOne(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  const target = life.pick(life.chance(0.6) ? life.alive() : life.sessions)
  if (session === undefined || target === undefined) return
  const node = life.node()
  const token = life.pick(session.tokens)?.text
  const response = await life.send(node, 'DELETE', `/api/auth/sessions/${target.id}`, { token })
  if (target.ended !== undefined) expectStatus(response, 404)
  else if (target.account !== session.account) expectStatus(response, 403)
  else {
    expectStatus(response, 204)
    life.end([target], node)
  }
}

async function revokeOthers(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  if (session === undefined) return
  const node = life.node()
  const token = life.pick(session.tokens)?.text
  expectStatus(await life.send(node, 'DELETE', '/api/auth/sessions?all_except_current=true', { token }), 204)
  life.end(
    life.sessionsOf(session.account).filter((other) => other !== session),
    node,
  )
}

async function signInAnonymously(life: Life): Promise<void> {
  const userAgent = life.userAgent()
  const response = await life.send(life.node(), 'POST', '/api/auth/anonymous', { userAgent })
  expectStatus(response, 201)
  const account = newAccount(response.json.user.id, { isAnonymous: true })
  life.accounts.push(account)
  life.begin(response, account, userAgent)
}

async function signInByPhone(life: Life): Promise<void> {
  const phone = life.phone()
  const userAgent = life.userAgent()
  expectStatus(await life.send(life.node(), 'POST', '/api/auth/sms', { body: { phone } }), 200)
  const body = { phone, code: '123456' }
  const response = await life.send(life.node(), 'POST', '/api/auth/sms/confirm', { body, userAgent })
  const known = life.accounts.find((account) => account.phone === phone)
  expectStatus(response, known?.isDisabled === true ? 401 : 200)
  if (response.status !== 200) return
  const account = known ?? newAccount(response.json.user.id, { phone })
  if (known === undefined) life.accounts.push(account)
  life.begin(response, account, userAgent)
}

async function register(life: Life): Promise<void> {
  const email = life.email()
  const userAgent = life.userAgent()
  const body = { email, password: goodPassword }
  const response = await life.send(life.node(), 'POST', '/api/auth/register', { body, userAgent })
  expectStatus(response, life.ownerOf(email) === undefined ? 201 : 409)
  if (response.status !== 201) return
  const account = newAccount(response.json.user.id, { email, password: goodPassword })
  life.accounts.push(account)
  life.begin(response, account, userAgent)
}

async function logIn(life: Life): Promise<void> {
  const email = life.email()
  const account = life.ownerOf(email)
  const password = life.chance(0.8) ? (account?.password ?? goodPassword) : 'a wrong password'
  const userAgent = life.userAgent()
  const body = { email, password }
  const response = await life.send(life.node(), 'POST', '/api/auth/login', { body, userAgent })
  const isRight = account !== undefined && account.password === password && !account.isDisabled
  expectStatus(response, isRight ? 200 : 401)
  if (isRight) life.begin(response, account, userAgent)
}

async function changePassword(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  if (session === undefined) return
  const { account } = session
  const node = life.node()
  const newPassword = `tangerine-harbour-${life.sessions.length}`
  const isRight = life.chance(0.8)
  const body = { currentPassword: isRight ? account.password : 'a wrong password', newPassword }
  const token = life.pick(session.tokens)?.text
  const response = await life.send(node, 'POST', '/api/auth/change-password', { body, token })
  if (account.isAnonymous) expectStatus(response, 403)
  else if (account.password !== undefined && !isRight) expectStatus(response, 401)
  else {
    expectStatus(response, 200)
    account.password = newPassword
    life.end(
      life.sessionsOf(account).filter((other) => other !== session),
      node,
    )
  }
}

async function resetPassword(life: Life): Promise<void> {
  const email = life.email()
  const account = life.ownerOf(email)
  if (account === undefined || account.isDisabled) return
  const token = await mailedToken(life.node(), 'password-reset', email)
  const password = `juniper-lantern-${life.sessions.length}`
  const node = life.node()
  const body = { token, password }
  expectStatus(await life.send(node, 'POST', '/api/auth/password-reset/confirm', { body }), 200)
  account.password = password
  account.isVerified = true
  life.end(life.sessionsOf(account), node)
}

async function followLink(life: Life): Promise<void> {
  const email = life.email()
  const owner = life.ownerOf(email)
  if (owner?.isDisabled === true) return
  const node = life.node()
  const userAgent = life.userAgent()
  const mailed = await mailedToken(life.node(), 'magic-link', email)
  const guest = life.chance(0.4)
    ? life.pick(life.alive().filter(({ account }) => account.isAnonymous))
    : undefined
  const token = life.pick(guest?.tokens ?? [])?.text
  const options = { body: { token: mailed }, token, userAgent }
  const response = await life.send(node, 'POST', '/api/auth/magic-link/confirm', options)
  if (guest !== undefined) {
    expectStatus(response, owner === undefined ? 200 : 409)
    if (owner !== undefined) return
    Object.assign(guest.account, { email, isVerified: true, isAnonymous: false, isLinked: true })
    life.begin(response, guest.account, userAgent)
    return
  }
  expectStatus(response, 200)
  const account = owner ?? newAccount(response.json.user.id, { email, isVerified: true })
  if (owner === undefined) life.accounts.push(account)
  if (!account.isVerified) {
    // The account loses the factors and password that an earlier registration set.
    Object.assign(account, { isVerified: true, password: undefined })
    life.end(life.sessionsOf(account), node)
  }
  life.begin(response, account, userAgent)
}

async function linkEmail(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  const token = life.pick(session?.tokens ?? [])
  if (session === undefined || token === undefined) return
  const email = life.email()
  const userAgent = life.userAgent()
  const options = { body: { email, password: goodPassword }, token: token.text, userAgent }
  const response = await life.send(life.node(), 'POST', '/api/auth/link/email', options)
  const { account } = session
  if (!token.isAnonymous || !account.isAnonymous) expectStatus(response, 403)
  else if (life.ownerOf(email) !== undefined) expectStatus(response, 409)
  else {
    expectStatus(response, 200)
    Object.assign(account, { email, password: goodPassword, isAnonymous: false, isLinked: true })
    life.begin(response, account, userAgent)
  }
}

async function deleteMe(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  if (session === undefined) return
  const node = life.node()
  const token = life.pick(session.tokens)?.text
  expectStatus(await life.send(node, 'DELETE', '/api/auth/me', { token }), 204)
  life.remove(session.account, node)
}

async function disable(life: Life): Promise<void> {
  const account = life.pick(life.accounts)
  if (account === undefined) return
  expectStatus(await life.asAdmin('POST', `/api/admin/users/${account.id}/disable`), 200)
  account.isDisabled = true
  life.end(life.sessionsOf(account))
}

async function enable(life: Life): Promise<void> {
  const account = life.pick(life.accounts.filter(({ isDisabled }) => isDisabled))
  if (account === undefined) return
  expectStatus(await life.asAdmin('POST', `/api/admin/users/${account.id}/enable`), 200)
  account.isDisabled = false
}

async function deleteByAdmin(life: Life): Promise<void> {
  const account = life.pick(life.accounts)
  if (account === undefined) return
  expectStatus(await life.asAdmin('DELETE', `/api/admin/users/${account.id}`), 204)
  life.remove(account)
}

async function deleteSessionBySql(life: Life): Promise<void> {
  const session = life.pick(life.alive())
  if (session === undefined) return
  await life.nodes.sql('delete from basalt.sessions where id = $1', [session.id])
  life.end([session])
}

async function deleteUserBySql(life: Life): Promise<void> {
  const account = life.pick(life.accounts)
  if (account === undefined) return
  await life.nodes.sql('delete from basalt.users where id = $1', [account.id])
  life.remove(account)
}

function newAccount(id: string, known: Partial<Account>): Account {
  return {
    id,
    email: undefined,
    isVerified: false,
    isAnonymous: false,
    isLinked: false,
    password: undefined,
    phone: undefined,
    isDisabled: false,
    ...known,
  }
}

/** Steps with their weights. Steps that hash a password are expensive, so they are rare. */
const steps: readonly (readonly [string, number, Step])[] = [
  ['me', 300, getMe],
  ['list sessions', 80, listSessions],
  ['refresh', 220, refresh],
  ['replay a refresh token', 90, replay],
  ['refresh an ended session', 30, refreshEnded],
  ['age the rotations', 25, age],
  ['log out', 25, logOut],
  ['revoke a session', 35, revokeOne],
  ['revoke other sessions', 10, revokeOthers],
  ['sign in anonymously', 35, signInAnonymously],
  ['sign in by phone', 60, signInByPhone],
  ['register', 5, register],
  ['log in', 6, logIn],
  ['change the password', 3, changePassword],
  ['reset the password', 4, resetPassword],
  ['follow a sign-in link', 25, followLink],
  ['link an email', 4, linkEmail],
  ['delete oneself', 6, deleteMe],
  ['disable a user', 8, disable],
  ['enable a user', 12, enable],
  ['delete a user', 4, deleteByAdmin],
  ['delete a session by SQL', 10, deleteSessionBySql],
  ['delete a user by SQL', 4, deleteUserBySql],
]
const totalWeight = steps.reduce((sum, [, weight]) => sum + weight, 0)

/** Chooses a random seed, or reads it from BASALT_TEST_SEED to repeat the steps of a failure. */
export function chooseSeed(): number {
  return Number(process.env.BASALT_TEST_SEED ?? randomInt(2 ** 31))
}

/** Generates random numbers from 0 to 1 that a seed repeats. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
