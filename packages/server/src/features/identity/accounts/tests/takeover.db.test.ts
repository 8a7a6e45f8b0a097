import { hkdfSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  createAccountNodes,
  getMe,
  insertUser,
  mailedToken,
  waitForJobs,
  waitUntilDead,
} from '../../../../../test/account-nodes.ts'
import {
  claimsOf,
  createAccountsApp,
  goodPassword,
  newEmail,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { tokenIn } from '../../../../../test/inbox.ts'
import {
  enroll,
  newAuthenticator,
  passkeyUser,
  publicOrigin,
  signInByEmail,
  signInDiscoverably,
} from '../../../../../test/passkeys.ts'
import { exchangeRaw, openRaw, parseRaw } from '../../../../../test/raw-http.ts'
import { enrollTotp, everySecondFactor, totpCode } from '../../../../../test/second-factors.ts'
import { envelope } from '../../../../../test/test-app.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { defaultAppId } from '../../../../http/access/identity.ts'
import { sealToken } from '../../../../lib/tokens.ts'

let nodes: AccountNodes
beforeAll(async () => {
  nodes = await createAccountNodes({
    config: { ...everySecondFactor, 'server.public_base_url': publicOrigin, 'push.enabled': 'true' },
  })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const ownersPassword = 'juniper-lantern-77'
const stored = (id: string) => nodes.sql('select * from basalt.users where id = $1', [id])
const logIn = (email: string, password: string) => nodes.second.post('login', { email, password })

describe('account takeover › an account registered before the owner of its address', () => {
  /** Collects everything that an attacker can hold of an account of another person. */
  async function hijack(email: string) {
    const first = await nodes.first.register(email)
    const verification = tokenIn(await nodes.inbox.take(email))
    const second: SignedIn = (await logIn(email, goodPassword)).json
    const third: SignedIn = (await nodes.first.post('refresh', { refreshToken: first.refreshToken })).json
    const reset = await mailedToken(nodes.first, 'password-reset', email)
    const link = await mailedToken(nodes.second, 'magic-link', email)
    const sessions = [first, second, third]
    return { user: first.user, sessions, verification, reset, link }
  }

  const owners = {
    async 'signs in by link'(email: string): Promise<SignedIn> {
      const token = await mailedToken(nodes.second, 'magic-link', email)
      return (await nodes.second.post('magic-link/confirm', { token })).json
    },
    async 'resets the password'(email: string): Promise<SignedIn> {
      const token = await mailedToken(nodes.second, 'password-reset', email)
      const password = ownersPassword
      expect((await nodes.second.post('password-reset/confirm', { token, password })).status).toBe(200)
      return (await logIn(email, ownersPassword)).json
    },
  }

  test.each(Object.entries(owners))('loses every sign-in method when the owner %s', async (_name, act) => {
    const email = newEmail()
    const attacker = await hijack(email)
    const owner = await act(email)
    expect(owner.user).toMatchObject({ id: attacker.user.id, email, emailVerified: true })

    for (const { token, refreshToken } of attacker.sessions) {
      await waitUntilDead(nodes, token)
      for (const { post } of nodes.both) {
        expect((await post('refresh', { refreshToken })).status).toBe(401)
        expect((await post('verify/resend', undefined, token)).status).toBe(401)
        const change = { currentPassword: goodPassword, newPassword: 'of-the-thief-1' }
        expect((await post('change-password', change, token)).status).toBe(401)
      }
    }
    for (const { post } of nodes.both) {
      expect((await post('login', { email, password: goodPassword })).status).toBe(401)
      expect(
        (await post('password-reset/confirm', { token: attacker.reset, password: 'of-the-thief-1' })).status,
      ).toBe(400)
      expect((await post('magic-link/confirm', { token: attacker.link })).status).toBe(400)
      expect((await post('verify', { token: attacker.verification })).status).toBe(400)
    }
    for (const { app } of nodes.both) {
      expect((await getMe(app, owner.token)).json).toMatchObject({ id: owner.user.id, emailVerified: true })
    }
    expect(await nodes.sql('select id from basalt.sessions where user_id = $1', [owner.user.id])).toEqual([
      { id: claimsOf(owner.token).sid },
    ])
  })

  test.each(Object.entries(owners))(
    'sends no messages to earlier devices when the owner %s',
    async (_name, act) => {
      const { user, token } = await nodes.first.register()
      const body = {
        app_id: defaultAppId,
        provider: 'fcm',
        platform: 'android',
        token: `device of ${user.id}`,
        device_name: 'of a stranger',
      }
      const devicesOf = async (bearer: string) =>
        await nodes.first.app.request('GET', `/api/push/devices?app_id=${defaultAppId}`, { token: bearer })
      expect((await nodes.first.app.request('POST', '/api/push/devices', { token, body })).status).toBe(201)
      expect((await devicesOf(token)).json.items).toHaveLength(1)
      const owner = await act(user.email)
      expect((await devicesOf(owner.token)).json).toEqual({ items: [] })
      expect(
        await nodes.sql('select is_active, inactive_reason from basalt.push_devices where user_id = $1', [
          user.id,
        ]),
      ).toEqual([{ is_active: false, inactive_reason: 'revoked' }])
    },
  )

  /** Second factors, by the function that enrols each. */
  const factors = {
    async totp({ token }: SignedIn) {
      const { secret } = await enrollTotp(nodes.first.post, token)
      return async (pending: string) => {
        const { challenge_id } = (await nodes.second.post('mfa/totp/challenge', undefined, pending)).json
        return await nodes.second.post('mfa/totp/verify', { challenge_id, code: totpCode(secret) }, pending)
      }
    },
    async webauthn({ token }: SignedIn) {
      const authenticator = newAuthenticator()
      expect((await enroll(nodes.first, token, authenticator)).status).toBe(200)
      return async (pending: string) => {
        const challenge = (await nodes.second.post('mfa/webauthn/challenge', undefined, pending)).json
        const assertion_response = authenticator.get(challenge.options)
        const body = { challenge_id: challenge.challenge_id, assertion_response }
        return await nodes.second.post('mfa/webauthn/verify', body, pending)
      }
    },
  }
  const waysByMail = {
    async 'a sign-in link'(email: string) {
      const token = await mailedToken(nodes.second, 'magic-link', email)
      return await nodes.second.post('magic-link/confirm', { token })
    },
    async 'a password reset'(email: string) {
      const token = await mailedToken(nodes.second, 'password-reset', email)
      const password = ownersPassword
      expect((await nodes.second.post('password-reset/confirm', { token, password })).status).toBe(200)
      return await logIn(email, password)
    },
  }
  const cases = Object.entries(waysByMail).flatMap(([way, act]) =>
    Object.entries(factors).map(([method, enrol]) => [way, method, act, enrol] as const),
  )

  test.each(cases)(
    'requires the second factor after %s, with %s enrolled',
    async (way, method, act, enrol) => {
      const email = newEmail()
      const attacker = await hijack(email)
      const [first] = attacker.sessions
      if (first === undefined) throw new Error('no session')
      const pass = await enrol(first)
      await nodes.sql("update basalt.users set phone = '+12025550133' where id = $1", [attacker.user.id])
      const response = await act(email)
      expect(response.json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
      // Password, phone, sessions and tokens of the stranger are deleted, the factor is not.
      for (const { token, refreshToken } of attacker.sessions) {
        await waitUntilDead(nodes, token)
        expect((await nodes.first.post('refresh', { refreshToken })).status).toBe(401)
      }
      expect((await logIn(email, goodPassword)).status).toBe(401)
      expect((await nodes.first.post('verify', { token: attacker.verification })).status).toBe(400)
      expect(await stored(attacker.user.id)).toMatchObject([{ phone: null, email_verified_at: null }])
      const enrolled = await nodes.sql('select method from basalt.mfa_factors where user_id = $1', [
        attacker.user.id,
      ])
      expect(enrolled).toEqual([{ method }])
      // Mailbox and factor together sign in. The link verifies the address.
      const passed = await pass(response.json.mfa_token)
      expect(passed.json.user).toMatchObject({
        id: attacker.user.id,
        emailVerified: way === 'a sign-in link',
      })
      expect(claimsOf(passed.json.token)).toMatchObject({
        aal: 'aal2',
        email_verified: way === 'a sign-in link',
      })
    },
  )

  test('with a passkey of the stranger does not get a verified address by it', async () => {
    for (const act of Object.values(waysByMail)) {
      const email = newEmail()
      const { user, authenticator } = await passkeyUser(nodes.first, newAuthenticator(), email)
      expect((await act(email)).json.mfa_pending).toBe(true)
      const signedIn = await signInDiscoverably(nodes.second, authenticator)
      expect(signedIn.json.user).toMatchObject({ id: user.id, emailVerified: false })
      expect(claimsOf(signedIn.json.token).email_verified).toBe(false)
    }
  })

  test('belongs to its owner after an administrator removes the factors', async () => {
    const email = newEmail()
    const { user } = await passkeyUser(nodes.first, newAuthenticator(), email)
    expect((await waysByMail['a sign-in link'](email)).json.mfa_pending).toBe(true)
    const admin = await nodes.first.app.adminToken()
    const reset = await nodes.first.app.request('DELETE', `/api/admin/users/${user.id}/factors`, {
      token: admin,
    })
    expect(reset.status).toBe(204)
    const owner = await waysByMail['a sign-in link'](email)
    expect(owner.json.user).toMatchObject({ id: user.id, emailVerified: true })
  })

  test('keeps the second factors through a reset when it is verified', async () => {
    const { user, authenticator } = await passkeyUser(nodes.first)
    await nodes.first.post('verify', { token: tokenIn(await nodes.inbox.take(user.email)) })
    const token = await mailedToken(nodes.first, 'password-reset', user.email)
    const body = { token, password: ownersPassword }
    expect((await nodes.first.post('password-reset/confirm', body)).status).toBe(200)
    const signedIn = await logIn(user.email, ownersPassword)
    expect(signedIn.json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
    expect((await signInByEmail(nodes.second, user.email, authenticator)).json.user.id).toBe(user.id)
  })

  test('ends the sessions of an anonymous caller who linked the address', async () => {
    const email = newEmail()
    const guest: SignedIn = (await nodes.first.post('anonymous')).json
    const linked = await nodes.first.post('link/email', { email, password: goodPassword }, guest.token)
    const token = await mailedToken(nodes.second, 'magic-link', email)
    const owner: SignedIn = (await nodes.second.post('magic-link/confirm', { token })).json
    expect(owner.user.id).toBe(guest.user.id)
    for (const session of [guest, linked.json as SignedIn]) {
      await waitUntilDead(nodes, session.token)
      expect((await nodes.first.post('refresh', { refreshToken: session.refreshToken })).status).toBe(401)
    }
    expect((await logIn(email, goodPassword)).status).toBe(401)
  })
})

test('account takeover › a verified account keeps its password and its sessions when its owner signs in by link', async () => {
  const email = newEmail()
  const first = await nodes.first.register(email)
  await nodes.first.post('verify', { token: tokenIn(await nodes.inbox.take(email)) })
  const before = await stored(first.user.id)
  const reset = await mailedToken(nodes.first, 'password-reset', email)
  const token = await mailedToken(nodes.second, 'magic-link', email)
  const second: SignedIn = (await nodes.second.post('magic-link/confirm', { token })).json
  expect(await stored(first.user.id)).toEqual(before)
  for (const session of [first, second]) {
    for (const { app } of nodes.both) expect((await getMe(app, session.token)).status).toBe(200)
  }
  expect((await logIn(email, goodPassword)).status).toBe(200)
  expect(
    (await nodes.first.post('password-reset/confirm', { token: reset, password: ownersPassword })).status,
  ).toBe(200)
})

describe('account takeover › an address that looks like another', () => {
  const victim = 'viktor@example.com'
  let owner: SignedIn
  let before: unknown
  const own = async () => [
    await stored(owner.user.id),
    await nodes.sql('select id from basalt.sessions where user_id = $1', [owner.user.id]),
  ]
  beforeAll(async () => {
    owner = await nodes.first.register(victim, ownersPassword)
    await nodes.first.post('verify', { token: tokenIn(await nodes.inbox.take(victim)) })
    before = await own()
  })

  const sameMailbox = [
    ' Viktor@Example.COM ',
    'VIKTOR@example.com',
    '\tviktor@example.com\n',
    'viktor@ｅxample.com',
    // The Kelvin sign, whose canonical form is the letter.
    'vi\u212ator@example.com',
  ]
  const otherMailboxes = [
    'ｖiktor@example.com',
    'vіktor@example.com',
    'vıktor@example.com',
    'vİktor@example.com',
    'vⅰktor@example.com',
    'vi\u0301ktor@example.com',
    'ⓥiktor@example.com',
    '𝓿iktor@example.com',
    'viktor+@example.com',
    'v.iktor@example.com',
    '"viktor"@example.com',
    'viktor@exаmple.com',
    'viktor@example.co',
    'viktor@sub.example.com',
    'viktor\u200b@example.com',
    'viktor\u00ad@example.com',
    '\u202eviktor@example.com',
    'viktor@example.com\0',
    'viktor\0@example.com',
    'viktor@example.com.',
    'viktor@example.com@example.org',
    'viktor@example.com,thief@example.org',
    'viktor@example.com thief@example.org',
    'viktor%@example.com',
    'vikt_r@example.com',
    '<viktor@example.com>',
    'viktor(thief)@example.com',
    'viktor@example.com\r\nbcc: thief@example.org',
  ]

  test.each(sameMailbox)('is the same address if only case, blanks or width differ: %j', async (email) => {
    expect((await nodes.first.post('register', { email, password: goodPassword })).status).toBe(409)
    expect((await logIn(email, goodPassword)).status).toBe(401)
    expect((await logIn(email, ownersPassword)).json.user.id).toBe(owner.user.id)
    await nodes.sql('delete from basalt.sessions where user_id = $1 and id <> $2', [
      owner.user.id,
      claimsOf(owner.token).sid,
    ])
    const guest: SignedIn = (await nodes.first.post('anonymous')).json
    const link = await nodes.first.post('link/email', { email, password: goodPassword }, guest.token)
    expect(link.status).toBe(409)
  })

  test.each(otherMailboxes)('never reaches its account: %j', async (email) => {
    const registered = await nodes.first.post('register', { email, password: goodPassword })
    expect([201, 400]).toContain(registered.status)
    if (registered.status === 201) {
      expect(registered.json.user.id).not.toBe(owner.user.id)
      expect((await logIn(email, goodPassword)).json.user.id).toBe(registered.json.user.id)
    }
    expect((await logIn(email, ownersPassword)).status).toBe(401)
    const guest: SignedIn = (await nodes.first.post('anonymous')).json
    const linked = await nodes.first.post('link/email', { email, password: goodPassword }, guest.token)
    expect(linked.status).toBe(registered.status === 201 ? 409 : 400)

    // Nothing is sent to the owner, and the other person's mail opens only an account of their own.
    const mailed = async (path: string) => {
      const earlierMails = nodes.inbox.all.length
      expect((await nodes.first.post(path, { email })).status).toBe(200)
      await waitForJobs(nodes)
      const mails = nodes.inbox.all
        .slice(earlierMails)
        .filter(({ text }) => text?.includes('/auth/verify') === false)
      for (const { to } of mails) expect(to).not.toBe(victim)
      expect(mails).toHaveLength(registered.status === 201 ? 1 : 0)
      return mails.map(tokenIn)
    }
    for (const token of await mailed('password-reset')) {
      const password = 'of-the-thief-1'
      expect((await nodes.second.post('password-reset/confirm', { token, password })).status).toBe(200)
    }
    for (const token of await mailed('magic-link')) {
      const confirmed = await nodes.second.post('magic-link/confirm', { token })
      expect(confirmed.json.user.id).toBe(registered.json.user.id)
    }
    expect(await own()).toEqual(before)
  })
})

describe('account takeover › mailed links', () => {
  const forged = [
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: gopher',
    'X-Forwarded-Port: 666',
    'X-Forwarded-Prefix: /evil',
    'X-Original-URL: http://evil.example/',
    'Forwarded: host=evil.example;proto=gopher',
    'Origin: http://evil.example',
    'Referer: http://evil.example/',
  ]
  const post = (path: string, host: string, email: string) => {
    const body = JSON.stringify({ email, password: goodPassword })
    const lines = [`POST ${path} HTTP/1.1`, `Host: ${host}`, ...forged, 'Content-Type: application/json']
    const text = [...lines, `Content-Length: ${body.length}`, 'Connection: close', '', body].join('\r\n')
    return exchangeRaw(nodes.first.app.url, text)
  }

  test.each([
    ['/api/auth/register', 201],
    ['/api/auth/password-reset', 200],
    ['/api/auth/magic-link', 200],
    ['http://evil.example/api/auth/magic-link', 200],
  ])('requested at %s name this server, whatever the headers', async (path, status) => {
    const email = status === 201 ? newEmail() : (await insertUser(nodes)).email
    expect((await post(path, 'evil.example', email)).status).toBe(status)
    const mail = await nodes.inbox.take(email)
    expect(JSON.stringify(mail)).not.toMatch(/evil|gopher|666/)
    const links = `${mail.text} ${mail.html}`.match(/https?:\/\/[^\s"'<>]+/g) ?? []
    expect(links.length).toBeGreaterThanOrEqual(2)
    for (const link of links) expect(new URL(link).origin).toBe(publicOrigin)
  })
})

/** Encrypts with the key of secrets at rest that a server derives from its secret when none is configured. */
function sealedWith(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, '', 'basalt secrets at rest', 32)).toString('hex')
}

describe('account takeover › a token', () => {
  const confirmations = [
    ['verify', 'token', {}],
    ['password-reset/confirm', 'token', { password: goodPassword }],
    ['magic-link/confirm', 'token', {}],
    ['refresh', 'refreshToken', {}],
    ['logout', 'refreshToken', {}],
  ] as const
  const odd: readonly [string, unknown][] = [
    ['an object', { $ne: null }],
    ['an array', ['a']],
    ['a nested array', [[['a']]]],
    ['a number', 7],
    ['a fraction', 1e308],
    ['true', true],
    ['null', null],
    ['empty', ''],
    ['half a megabyte', 'x'.repeat(500_000)],
  ]

  test.each(confirmations)('for %s must be a text', async (path, member, rest) => {
    for (const [_name, value] of odd) {
      const response = await nodes.first.post(path, { ...rest, [member]: value })
      expect(response.status).toBe(400)
      expect(response.json.message).toContain(member)
    }
    const large = await nodes.first.post(path, { ...rest, [member]: 'x'.repeat(3_000_000) })
    expect(large.status).toBe(413)
    for (const text of ['\0', '\ud800', '%', "' or 1=1 --", '../..', 'basalt_', 'ß'.repeat(1000)]) {
      expect([400, 401, 204]).toContain((await nodes.first.post(path, { ...rest, [member]: text })).status)
    }
  })

  test('is worthless for another purpose', async () => {
    const { token: accessToken, refreshToken, user } = await nodes.first.register()
    const mailed = {
      basalt_verify_: tokenIn(await nodes.inbox.take(user.email)),
      basalt_reset_: await mailedToken(nodes.first, 'password-reset', user.email),
      basalt_link_: await mailedToken(nodes.first, 'magic-link', user.email),
    }
    const uses = {
      basalt_verify_: 'verify',
      basalt_reset_: 'password-reset/confirm',
      basalt_link_: 'magic-link/confirm',
    }
    const prefixes = Object.keys(mailed) as (keyof typeof mailed)[]
    for (const of of prefixes) {
      expect(mailed[of].startsWith(of)).toBe(true)
      const secret = mailed[of].slice(of.length, -6)
      for (const to of prefixes.filter((prefix) => prefix !== of)) {
        for (const token of [mailed[of], sealToken(to, secret)]) {
          expect((await nodes.first.post(uses[to], { token, password: ownersPassword })).status).toBe(400)
        }
      }
    }
    const resealed = prefixes.map((prefix) =>
      sealToken('basalt_rt_', mailed[prefix].slice(prefix.length, -6)),
    )
    for (const text of [accessToken, ...Object.values(mailed), ...resealed]) {
      expect((await nodes.second.post('refresh', { refreshToken: text })).status).toBe(401)
    }
    for (const text of [refreshToken, ...Object.values(mailed)]) {
      expect((await getMe(nodes.first.app, text)).status).toBe(401)
      for (const [path] of confirmations.slice(0, 3)) {
        const body = { token: refreshToken, password: ownersPassword }
        expect((await nodes.first.post(path, body)).status).toBe(400)
      }
    }
    // None of these attempts consumed a token.
    expect((await nodes.first.post('verify', { token: mailed.basalt_verify_ })).status).toBe(200)
    expect((await nodes.first.post('magic-link/confirm', { token: mailed.basalt_link_ })).status).toBe(200)
    const reset = { token: mailed.basalt_reset_, password: ownersPassword }
    expect((await nodes.first.post('password-reset/confirm', reset)).status).toBe(200)
  })

  test('from another server is rejected, even on the same database', async () => {
    const secret = 'another-secret-of-at-least-thirty-two-characters'
    await using foreign = await createAccountsApp({
      database: nodes.database,
      inbox: nodes.inbox,
      // The server can decrypt the secrets of the other one. Otherwise it would refuse to start.
      config: { 'auth.jwt_secret': secret, 'auth.previous_encryption_keys': sealedWith(testSecret) },
    })
    const theirs = await foreign.register()
    const ours = await nodes.first.register()
    for (const [node, { token, refreshToken }] of [
      [nodes.first, theirs],
      [foreign, ours],
    ] as const) {
      expect((await getMe(node.app, token)).status).toBe(401)
      expect((await node.app.request('GET', '/api/collections/none', { token })).status).toBe(401)
      expect((await node.post('refresh', { refreshToken })).status).toBe(401)
      expect((await node.post('logout', { refreshToken })).status).toBe(204)
    }
    expect((await getMe(nodes.first.app, ours.token)).status).toBe(200)
    expect((await getMe(foreign.app, theirs.token)).status).toBe(200)
  })
})

describe('account takeover › a user agent', () => {
  const logInWith = (userAgent: string | Uint8Array, email: string) => {
    const body = JSON.stringify({ email, password: goodPassword })
    const head = `POST /api/auth/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nUser-Agent: `
    return Buffer.concat([Buffer.from(head), Buffer.from(userAgent), Buffer.from(`\r\n\r\n${body}`)])
  }
  const agentsOf = async (id: string) =>
    (await nodes.sql('select user_agent from basalt.sessions where user_id = $1', [id])).map(
      ({ user_agent: agent }) => agent,
    )

  test('is stored as far as it distinguishes devices', async () => {
    const { id, email } = await insertUser(nodes, { password: goodPassword })
    const response = await exchangeRaw(nodes.first.app.url, logInWith('Z'.repeat(12_000), email))
    expect(response.status).toBe(200)
    expect(await agentsOf(id)).toEqual(['Z'.repeat(512)])
  })

  test('is rejected with the error object if it has a hundred kilobytes', async () => {
    const { id, email } = await insertUser(nodes, { password: goodPassword })
    const connection = openRaw(nodes.first.app.url)
    connection.write(logInWith('Z'.repeat(100_000), email))
    const response = parseRaw((await connection.ended).text)
    expect(response.status).toBe(431)
    expect(JSON.parse(response.body)).toMatchObject({ code: 431, error: 'headers_too_large' })
    expect(await agentsOf(id)).toEqual([])
  })

  test.each([
    ['NUL', 'a\0b'],
    ['a carriage return', 'a\rX-Evil: 1'],
    ['an escape', 'a\x1b[31mb'],
  ])('with %s is rejected, or stored without harm', async (_name, agent) => {
    const { id, email } = await insertUser(nodes, { password: goodPassword })
    const response = await exchangeRaw(nodes.first.app.url, logInWith(agent, email))
    expect([200, 400]).toContain(response.status)
    expect(await agentsOf(id)).toEqual(response.status === 200 ? [agent] : [])
  })

  test('is listed even if its bytes are not UTF-8', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    const response = await exchangeRaw(
      nodes.first.app.url,
      logInWith(Uint8Array.of(0xff, 0xc3, 0x28, 0x80), email),
    )
    expect(response.status).toBe(200)
    const { token } = JSON.parse(response.body)
    const sessions = await nodes.second.app.request('GET', '/api/auth/sessions', { token })
    expect(sessions.json).toMatchObject([{ user_agent: '\u00ff\u00c3(\u0080', current: true }])
  })
})

test('account takeover › a session id of another user is useless', async () => {
  const [mine, theirs] = [await nodes.first.register(), await nodes.first.register()]
  const end = (id: string) =>
    nodes.second.app.request('DELETE', `/api/auth/sessions/${id}`, { token: mine.token })
  expect(envelope(await end(String(claimsOf(theirs.token).sid)))).toMatchObject({ code: 403 })
  expect(envelope(await end(randomUUID()))).toMatchObject({ code: 404 })
  expect((await getMe(nodes.first.app, theirs.token)).status).toBe(200)
})
