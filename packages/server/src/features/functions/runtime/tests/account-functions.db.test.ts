import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountsApp,
  claimsOf,
  createAccountsApp,
  goodPassword,
  mailedLinkToken,
  newEmail,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { newAuthenticator, passkeyUser, publicOrigin, signInByEmail } from '../../../../../test/passkeys.ts'
import { aal2Session, everySecondFactor, totpUser } from '../../../../../test/second-factors.ts'
import { Browser, jsonOf, type OpenIdPeer, oidcConfig, startOpenIdPeer } from '../../../../../test/social.ts'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const files = {
  'accounts.ts': `import { claims, FunctionError, onSignUp } from '@basaltdb/functions'
    export const admit = onSignUp({ timeout: 2 }, async (ctx, account) => {
      const [kind] = account.email.split('-')
      const { id, email, method, wasAnonymous } = account
      await ctx.db.arrival.create({ user_id: id, email, method, was_anonymous: wasAnonymous, kind: ctx.claims.kind })
      if (kind === 'mail') await ctx.mail({ to: 'owner@example.com', subject: 'New', text: 'A user: ' + ctx.secrets.SIGN_KEY })
      if (kind === 'refused') {
        await ctx.mail({ to: 'owner@example.com', subject: 'Refused', text: 'A user' })
        throw new FunctionError(403, 'by invitation only', { error: 'by_invitation' })
      }
      if (kind === 'broken') throw new Error('the ledger is closed: ' + ctx.secrets.SIGN_KEY)
      if (kind === 'exit') process.exit(1)
      if (kind === 'slow') await new Promise(() => {})
      if (kind === 'text') await ctx.db.sql\`select 1\`
      if (kind === 'list') return []
      if (kind === 'large') return { app_metadata: { text: 'x'.repeat(9000) } }
      if (kind === 'odd') return { app_metadata: { plan: 'free' }, role: 'owner' }
      if (kind === 'duplicate') await ctx.db.arrival.create({ user_id: id, email, method: 'again' }).catch(() => {})
      if (kind === 'deferred') await ctx.db.pledge.create({ user_id: id, sponsor: id })
      if (kind === 'none') return
      return { app_metadata: { plan: method === 'admin' ? 'staff' : 'free' } }
    })
    export const enrich = claims(async (ctx, account) => {
      const [kind] = account.email.split('-')
      if (kind === 'heavy') return { text: 'x'.repeat(1100) }
      if (kind === 'reserved') return { plan: 'pro', sub: account.id, aal: 'aal2' }
      if (kind === 'array') return ['pro']
      if (kind === 'blocked') throw new FunctionError(402, 'the invoice is open')
      const findGate = async () => (await ctx.db.gate.list({ filter: { user_id: account.id } })).items[0]
      if (await findGate()) console.log('at the gate of ' + account.id)
      while ((await findGate())?.is_open === false) await new Promise((resolve) => setTimeout(resolve, 20))
      const { items } = await ctx.db.block.list({ filter: { email: account.email } })
      if (items.length > 0) throw new FunctionError(403, 'blocked')
      const arrivals = await ctx.db.arrival.list({ filter: { user_id: account.id } })
      return { plan: account.appMetadata.plan ?? 'none', arrivals: arrivals.items.length, kind: ctx.claims.kind }
    })`,
  'hooks.ts': `import { before } from '@basaltdb/functions'
    export const inspect = before('arrival', ['create'], async (ctx, change) => {
      if (change.values.email?.startsWith('hooked-')) await ctx.db.sql\`select 1\`
      if (change.values.email?.startsWith('deeper-')) await ctx.db.visit.create({ id: change.values.user_id })
    })
    export const count = before('visit', ['create'], async (ctx) => {
      await ctx.db.sql\`select 1\`
    })`,
  'whoami.ts': `import { route } from '@basaltdb/functions'
    export default route('GET /whoami', { access: 'user' }, (ctx) => ctx.claims)`,
}
const setup = `create table arrival (user_id uuid primary key references basalt.users on delete cascade, email text,
    method text, was_anonymous bool, kind text, role text default current_user, login text default session_user);
  create table visit (id uuid primary key);
  create table block (email text primary key);
  create table pledge (user_id uuid primary key, sponsor uuid references visit deferrable initially deferred);
  create table gate (user_id uuid primary key, is_open bool);
  create table lounge (plan text primary key);
  insert into lounge values ('free'), ('staff'), ('none');
  alter table lounge enable row level security;
  create policy by_claim on lounge for select using (plan = basalt.claims() ->> 'plan');`
const secret = 'k3y-of-the-sign-up'

let folder: FunctionsFolder
let peer: OpenIdPeer
let accounts: AccountsApp
let app: TestApp
beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  peer = await startOpenIdPeer()
  accounts = await createAccountsApp({
    setup,
    config: {
      ...everySecondFactor,
      ...oidcConfig(peer.issuer),
      ...{ 'server.public_base_url': publicOrigin, 'logging.level': 'info' },
      ...{ 'functions.folder': folder.path, 'functions.connections': '2', 'functions.timeout': '25' },
    },
  })
  app = accounts.app
  const put = { token: await app.adminToken(), body: { value: secret } }
  await app.request('PUT', '/api/admin/secrets/SIGN_KEY', put)
})
afterAll(async () => {
  await accounts?.[Symbol.asyncDispose]()
  await peer?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})

const register = (email: string) => accounts.post('register', { email, password: goodPassword })
const logIn = (email: string) => accounts.post('login', { email, password: goodPassword })
const address = (kind: string) => `${kind}-${newEmail()}`
const customOf = ({ token }: Pick<SignedIn, 'token'>) => claimsOf(token).custom_claims
/** Counts all rows that a sign-up with this address leaves. */
const traces = async (email: string) =>
  (
    await app.sql(
      `select (select count(*) from basalt.users where email = $1) + (select count(*) from arrival where email = $1)
        + (select count(*) from basalt.jobs where payload::text like '%' || $1 || '%'
            or payload ->> 'subject' = 'Refused')
        + (select count(*) from basalt.outbox where record::text like '%' || $1 || '%') as n`,
      [email],
    )
  )[0]?.n
const arrivalOf = async (id: string) =>
  (await app.sql('select method, was_anonymous, kind, role from arrival where user_id = $1', [id]))[0]

describe('onSignUp', () => {
  test('runs in the transaction of the account, as the administrator, and sets app_metadata', async () => {
    const { user, token } = (await register(address('mail'))).json
    expect(user.app_metadata).toEqual({ plan: 'free' })
    const role = 'basalt_administrator'
    const method = 'password'
    expect(await arrivalOf(user.id)).toEqual({ method, was_anonymous: false, kind: 'administrator', role })
    expect(customOf({ token })).toEqual({ plan: 'free', arrivals: 1, kind: 'administrator' })
    expect((await accounts.inbox.take('owner@example.com')).text).toContain(secret)
    const { user: plain } = (await register(address('none'))).json
    expect(plain).not.toHaveProperty('app_metadata')
  })

  test('refuses a sign-up with its own error, and leaves no row, mail or event', async () => {
    const email = address('refused')
    const refused = await register(email)
    expect(envelope(refused)).toMatchObject({
      code: 403,
      message: 'by invitation only',
      error: 'by_invitation',
    })
    expect(await traces(email)).toBe('0')
  })

  test.each([
    ['an error', 'broken', 500],
    ['the end of its process', 'exit', 503],
    ['its time limit', 'slow', 504],
    ['an own statement', 'text', 400],
    ['an own statement of a hook', 'hooked', 400],
    ['an own statement of a hook of a hook', 'deeper', 400],
    ['a list as the result', 'list', 500],
    ['app_metadata that is too large', 'large', 500],
    ['an unknown member of the result', 'odd', 500],
  ])('creates nothing after %s', async (_what, kind, status) => {
    const email = address(kind)
    const response = await register(email)
    expect([response.status, response.text.includes(secret)]).toEqual([status, false])
    if (status === 400) expect(envelope(response).message).toContain('ctx.db.sql is not available here')
    expect(await traces(email)).toBe('0')
    // The process may have to restart.
    await waitFor('another sign-up', async () => (await register(address('next'))).status === 201)
    expect(app.log.join('')).not.toContain(secret)
  })

  test('creates nothing if a deferred constraint does not hold at the end', async () => {
    const email = address('deferred')
    expect(envelope(await register(email))).toMatchObject({ code: 400, error: 'foreign_key_violation' })
    expect(await traces(email)).toBe('0')
  })

  test('continues after a statement that failed', async () => {
    const { user } = (await register(address('duplicate'))).json
    expect(await arrivalOf(user.id)).toMatchObject({ method: 'password' })
  })

  test('admits one of several registrations of an address, with few connections', async () => {
    const email = address('same')
    const responses = await Promise.all(Array.from({ length: 8 }, () => register(email)))
    const statuses = responses.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 409)])
    expect(await app.sql('select count(*)::int as n from arrival where email = $1', [email])).toEqual([
      { n: 1 },
    ])
  })

  test('gets each way in, and an anonymous account again when it becomes permanent', async () => {
    const anonymous: SignedIn = (await accounts.post('anonymous')).json
    expect(await arrivalOf(anonymous.user.id)).toMatchObject({ method: 'anonymous' })
    expect(customOf(anonymous)).toMatchObject({ plan: 'free', arrivals: 1 })
    await app.sql('delete from arrival where user_id = $1', [anonymous.user.id])
    const refused = { email: address('refused'), password: goodPassword }
    expect((await accounts.post('link/email', refused, anonymous.token)).status).toBe(403)
    expect((await app.request('GET', '/api/auth/me', { token: anonymous.token })).json.is_anonymous).toBe(
      true,
    )
    const own = { email: address('own'), password: goodPassword }
    expect((await accounts.post('link/email', own, anonymous.token)).status).toBe(200)
    expect(await arrivalOf(anonymous.user.id)).toMatchObject({ method: 'password', was_anonymous: true })

    const linked = address('link')
    const { token } = { token: await mailedLinkToken(accounts, linked) }
    const byLink: SignedIn = (await accounts.post('magic-link/confirm', { token })).json
    expect(await arrivalOf(byLink.user.id)).toMatchObject({ method: 'magic_link' })
    expect(customOf(byLink)).toMatchObject({ plan: 'free' })

    const phone = '+12025550171'
    await accounts.post('sms', { phone })
    const code = (await accounts.inbox.take(phone)).body?.replace(/\D/g, '')
    const bySms: SignedIn = (await accounts.post('sms/confirm', { phone, code })).json
    expect(await arrivalOf(bySms.user.id)).toMatchObject({ method: 'sms' })
    expect(customOf(bySms)).toMatchObject({ plan: 'free' })

    const admin = await app.adminToken()
    const invite = (email: string) =>
      app.request('POST', '/api/admin/users', { token: admin, body: { email, invite: true } })
    const invited = (await invite(address('staff'))).json
    expect([invited.app_metadata, await arrivalOf(invited.id)]).toMatchObject([
      { plan: 'staff' },
      { method: 'admin' },
    ])
    const rejected = address('refused')
    expect((await invite(rejected)).status).toBe(403)
    expect(await traces(rejected)).toBe('0')
  })
})

describe('claims', () => {
  test('are in every token, for policies and functions', async () => {
    const email = newEmail()
    const registered: SignedIn = (await register(email)).json
    const { refreshToken } = registered
    const signedIn: SignedIn = (await logIn(email)).json
    const refreshed: SignedIn = (await accounts.post('refresh', { refreshToken })).json
    const admin = await app.adminToken()
    const acting = await app.request('POST', `/api/admin/users/${registered.user.id}/impersonate`, {
      token: admin,
      body: { reason: 'a test' },
    })
    const custom = { plan: 'free', arrivals: 1, kind: 'administrator' }
    for (const session of [registered, signedIn, refreshed, acting.json]) {
      expect(customOf(session)).toEqual(custom)
      const read = await app.request('GET', '/api/collections/lounge', { token: session.token })
      expect(read.json.items).toEqual([{ plan: 'free' }])
    }
    const me = await app.request('GET', '/api/functions/whoami', { token: signedIn.token })
    expect(me.json).toMatchObject({ kind: 'user', custom })
    expect((await app.request('GET', '/api/collections/lounge', { token: admin })).json.items).toHaveLength(3)
  })

  test.each([
    ['more than 1024 bytes', 'heavy', /bytes of JSON; expected at most 1024/],
    ['reserved names', 'reserved', /sub, aal: reserved for the server/],
    ['a list', 'array', /expected an object/],
  ])('refuse the sign-in for %s, with the reason in the log', async (_what, kind, reason) => {
    const email = address(kind)
    const response = await register(email)
    expect(envelope(response)).toMatchObject({ code: 500, message: 'the function failed' })
    expect(app.log.join('')).toMatch(reason)
    expect(await traces(email)).toBe('0')
  })

  test('may refuse a sign-in, and a session that is refused a refresh keeps its token', async () => {
    expect(envelope(await register(address('blocked')))).toMatchObject({
      code: 402,
      message: 'the invoice is open',
    })
    const email = newEmail()
    const { refreshToken } = (await register(email)).json
    await app.sql('insert into block values ($1)', [email])
    for (let attempt = 1; attempt <= 2; attempt += 1)
      expect((await accounts.post('refresh', { refreshToken })).status).toBe(403)
    expect((await logIn(email)).status).toBe(403)
    await app.sql('delete from block where email = $1', [email])
    expect(customOf((await accounts.post('refresh', { refreshToken })).json)).toMatchObject({ plan: 'free' })
  })

  test('are not computed for a replayed refresh token, which ends the session', async () => {
    const email = newEmail()
    const { user, refreshToken } = (await register(email)).json
    const renewed = (await accounts.post('refresh', { refreshToken })).json
    await app.sql(
      "update basalt.sessions set rotations = array(select unnest(rotations) - interval '11 s') where user_id = $1",
      [user.id],
    )
    await app.sql('insert into block values ($1)', [email])
    expect((await accounts.post('refresh', { refreshToken })).status).toBe(401)
    await app.sql('delete from block where email = $1', [email])
    expect((await accounts.post('refresh', { refreshToken: renewed.refreshToken })).status).toBe(401)
  })

  /** Ways to sign in to an existing account. Each creates one, and returns its next sign-in. */
  const signIns: Record<string, () => Promise<{ id: string; signIn: () => Promise<SignedIn> }>> = {
    async 'a password'() {
      const { user }: SignedIn = (await register(newEmail())).json
      return { id: user.id, signIn: async () => (await logIn(user.email)).json }
    },
    async 'a mailed link'() {
      const { user }: SignedIn = (await register(newEmail())).json
      const token = await mailedLinkToken(accounts, user.email)
      return { id: user.id, signIn: async () => (await accounts.post('magic-link/confirm', { token })).json }
    },
    async 'a code by SMS'() {
      const phone = '+12025550172'
      const confirm = async () => {
        await accounts.post('sms', { phone })
        const code = (await accounts.inbox.take(phone)).body?.replace(/\D/g, '')
        return (await accounts.post('sms/confirm', { phone, code })).json
      }
      return { id: (await confirm()).user.id, signIn: confirm }
    },
    async 'a second factor'() {
      const enrolled = await totpUser(accounts)
      return { id: enrolled.user.id, signIn: () => aal2Session(accounts, enrolled, 1) }
    },
    async 'a passkey'() {
      const { user, authenticator } = await passkeyUser(accounts, newAuthenticator())
      return {
        id: user.id,
        signIn: async () => (await signInByEmail(accounts, user.email, authenticator)).json,
      }
    },
    async 'a provider'() {
      const email = newEmail()
      peer.person = { sub: `sub of ${email}`, email, email_verified: true, name: 'Ada' }
      const signIn = async () => {
        const browser = new Browser()
        const { pathname, search } = await browser.consent(await browser.start(app, 'peer'))
        return await jsonOf(browser.open(`${app.url}${pathname}${search}`))
      }
      return { id: (await signIn()).user.id, signIn }
    },
    async 'a refresh'() {
      const { user, refreshToken } = (await register(newEmail())).json
      return { id: user.id, signIn: async () => (await accounts.post('refresh', { refreshToken })).json }
    },
    async 'an administrator'() {
      const { user }: SignedIn = (await register(newEmail())).json
      const token = await app.adminToken()
      const path = `/api/admin/users/${user.id}/impersonate`
      const body = { reason: 'a test' }
      return { id: user.id, signIn: async () => (await app.request('POST', path, { token, body })).json }
    },
  }

  test.each(Object.keys(signIns))('are in the token after %s, and hold no lock of the user', async (way) => {
    const { id, signIn } = (await signIns[way]?.()) ?? { id: '', signIn: () => Promise.reject() }
    await app.sql('insert into gate values ($1, false)', [id])
    const calls = () => app.log.filter((line) => line.includes(`at the gate of ${id}`))
    const signingIn = signIn()
    await waitFor('the call of the function', () => calls().length > 0)
    // The job that mails a link may hold the lock for a moment.
    const locking = app.sql(`select set_config('lock_timeout', '10s', true);
      select from basalt.users where id = '${id}' for no key update`)
    await locking.finally(() => app.sql('update gate set is_open = true where user_id = $1', [id]))
    expect(customOf(await signingIn)).toMatchObject({ plan: 'free', kind: 'administrator' })
    expect(calls()).toHaveLength(1)
  })

  test('hold a connection, without which others are 503 with Retry-After', async () => {
    const { user } = (await register(newEmail())).json
    await app.sql('insert into gate values ($1, false)', [user.id])
    const signingIn = logIn(user.email)
    const isAtGate = () => app.log.some((line) => line.includes(`at the gate of ${user.id}`))
    await waitFor('the call of the function', isAtGate)
    const email = newEmail()
    const refused = await register(email)
    await app.sql('update gate set is_open = true where user_id = $1', [user.id])
    expect(envelope(refused)).toMatchObject({ code: 503, error: 'no_connection' })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await traces(email)).toBe('0')
    expect((await signingIn).status).toBe(200)
    expect((await register(email)).status).toBe(201)
  })

  test('are not computed for a disabled user', async () => {
    const email = newEmail()
    const { user } = (await register(email)).json
    await app.sql('update basalt.users set disabled_at = now() where id = $1', [user.id])
    await app.sql('insert into block values ($1)', [email])
    expect((await logIn(email)).status).toBe(401)
  })

  test('are not computed for a refresh by a disabled user', async () => {
    const email = newEmail()
    const { user, refreshToken } = (await register(email)).json
    await app.sql('update basalt.users set disabled_at = now() where id = $1', [user.id])
    await app.sql('insert into block values ($1)', [email])
    expect((await accounts.post('refresh', { refreshToken })).status).toBe(401)
  })

  test('follow app_metadata at the next refresh', async () => {
    const { user, refreshToken } = (await register(newEmail())).json
    await app.sql(`select basalt.set_app_metadata($1, '{"plan": "staff"}')`, [user.id])
    expect(customOf((await accounts.post('refresh', { refreshToken })).json)).toMatchObject({ plan: 'staff' })
  })
})

describe('two functions of one kind', () => {
  test('are not loaded, and sign-ups are refused', async () => {
    const one = `import { claims, onSignUp, sendMail } from '@basaltdb/functions'
      export const a = onSignUp(() => {}); export const b = claims(() => ({})); export const c = sendMail(() => {})`
    using faulty = makeFunctionsFolder({
      'one.ts': one,
      'two.ts': one.replace('const a', 'const d').replace('const b', 'const e').replace('const c', 'const f'),
    })
    await using other = await createAccountsApp({ config: { 'functions.folder': faulty.path } })
    const log = other.app.log.join('')
    expect(log).toContain('two.ts: d is onSignUp like a of one.ts')
    expect(log).toContain('two.ts: e is claims like b of one.ts')
    expect(log).toContain('two.ts: f is sendMail like c of one.ts')
    const response = await other.post('register', { email: newEmail(), password: goodPassword })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await other.post('anonymous')).status).toBe(503)
    expect(await other.app.sql('select from basalt.users')).toEqual([])
  })
})
