import { hash as bcrypt } from '@node-rs/bcrypt'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountsApp,
  claimsOf,
  createAccountsApp,
  goodPassword,
  newEmail,
} from '../../../../../test/accounts.ts'
import { tokenIn } from '../../../../../test/inbox.ts'
import { observeStatements } from '../../../../../test/observed-statements.ts'
import { envelope, type TestResponse } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createAccountsApp()
})
afterAll(async () => accounts[Symbol.asyncDispose]())

const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

describe('POST /api/auth/register', () => {
  test('creates an account and signs in', async () => {
    const email = newEmail()
    const response = await accounts.post('register', { email, password: goodPassword })
    expect(response.status).toBe(201)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.json).toEqual({
      token: expect.any(String),
      refreshToken: expect.stringMatching(/^basalt_rt_[\w-]{70,90}$/),
      user: {
        id: uuid,
        email,
        emailVerified: false,
        is_anonymous: false,
        createdAt: timestamp,
        updatedAt: timestamp,
      },
    })
    const claims = claimsOf(response.json.token)
    expect(claims).toEqual({
      sub: response.json.user.id,
      email,
      email_verified: false,
      sid: uuid,
      aal: 'aal1',
      amr: ['password'],
      is_anonymous: false,
      jti: expect.stringMatching(/^[0-9a-f]{32}$/),
      iat: expect.any(Number),
      exp: Number(claims.iat) + 900,
    })
  })

  test("hides a fault in the operator's trigger, logs it, and leaves no account", async () => {
    const { app } = accounts
    const email = `faulty-${newEmail()}`
    await app.sql(`
      create table profile (id uuid, plan int);
      create function make_profile() returns trigger language plpgsql security definer set search_path = public as $$
        begin
          if new.email like 'faulty%' then insert into profile values (new.id, new.email::int / 0); end if;
          if new.email like 'refused%' then raise exception 'by invitation' using errcode = 'PT403', hint = 'ask us'; end if;
          return new;
        end $$;
      create trigger make_profile after insert on basalt.users for each row execute function make_profile()`)
    const response = await accounts.post('register', { email, password: goodPassword })
    expect(response.status).toBe(500)
    expect(envelope(response)).toMatchObject({
      error: 'database_definition_error',
      message: 'a definition of the database failed on "basalt.users" (SQLSTATE 22P02)',
      data: { sqlState: '22P02', relation: 'basalt.users' },
    })
    const logged = app.log.filter((line) => line.includes('database_definition_error'))
    expect(logged).toEqual([expect.stringContaining('PL/pgSQL function make_profile() line ')])
    expect(logged.join()).not.toContain(email)
    expect(await app.sql('select from basalt.users where email = $1', [email])).toEqual([])
    const refused = await accounts.post('register', {
      email: `refused-${newEmail()}`,
      password: goodPassword,
    })
    expect(envelope(refused)).toEqual({
      ...{ code: 403, error: 'raised', message: 'by invitation', data: { hint: 'ask us' } },
    })
    await app.sql('drop trigger make_profile on basalt.users')
  })

  test('stores the password and the tokens only as hashes', async () => {
    const email = newEmail()
    const { token, refreshToken, user } = await accounts.register(email)
    const [row] = await accounts.app.sql('select * from basalt.users where id = $1', [user.id])
    expect(row?.password_hash).toMatch(/^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$/)
    const dump = JSON.stringify([row, await accounts.app.sql('select * from basalt.sessions')])
    for (const secret of [goodPassword, token, refreshToken]) expect(dump).not.toContain(secret)
  })

  test('mails a link that verifies the address once', async () => {
    const email = newEmail()
    const { token: accessToken } = await accounts.register(email)
    const token = tokenIn(await accounts.inbox.take(email))
    expect(
      (await accounts.app.request('GET', '/api/auth/me', { token: accessToken })).json.emailVerified,
    ).toBe(false)
    const verified = await accounts.post('verify', { token })
    expect([verified.status, verified.json]).toEqual([200, { message: 'email verified' }])
    expect(
      (await accounts.app.request('GET', '/api/auth/me', { token: accessToken })).json.emailVerified,
    ).toBe(true)
    expect(envelope(await accounts.post('verify', { token }))).toEqual({
      code: 400,
      message: 'invalid or expired verification token',
      error: 'invalid_verification_token',
    })
  })

  test('trims and lowercases the address', async () => {
    const { user } = await accounts.register('  Ada.Lovelace@Example.COM ')
    expect(user.email).toBe('ada.lovelace@example.com')
    expect(
      (await accounts.post('register', { email: 'ADA.lovelace@example.com', password: goodPassword })).status,
    ).toBe(409)
  })

  test('keeps every unusual character of an address', async () => {
    const email = String.raw`o'x"\;--@example.com`
    const { token, user } = await accounts.register(email)
    expect(user.email).toBe(email)
    expect((await accounts.app.request('GET', '/api/auth/me', { token })).json.email).toBe(email)
    expect((await accounts.post('login', { email, password: goodPassword })).json.user.id).toBe(user.id)
  })

  test.each([
    [{}, 400, 'email is required', 'field_required'],
    [{ email: 'ada@example.com' }, 400, 'password is required', 'field_required'],
    [{ email: '', password: goodPassword }, 400, 'email is required', 'field_required'],
    [{ email: 'nobody', password: goodPassword }, 400, 'invalid email format', 'invalid_email'],
    [{ email: 'a@b@example.com', password: goodPassword }, 400, 'invalid email format', 'invalid_email'],
    [
      { email: 'x@example.com\r\nbcc: y@example.com', password: goodPassword },
      400,
      'invalid email format',
      'invalid_email',
    ],
    [
      { email: 'a@example.com', password: 'short12' },
      400,
      'password must be at least 8 characters',
      'password_too_short',
    ],
    [
      { email: 'a@example.com', password: '🔒🔒🔒🔒🔒🔒🔒' },
      400,
      'password must be at least 8 characters',
      'password_too_short',
    ],
    [
      { email: 'a@example.com', password: 'x'.repeat(1025) },
      400,
      'password must be at most 1024 characters',
      'password_too_long',
    ],
    [
      { email: 'a@example.com', password: 'Password123' },
      400,
      'password is too common: choose one that is harder to guess',
      'common_password',
    ],
  ])('rejects %j', async (body, code, message, error) => {
    const before = await accounts.app.sql('select count(*) from basalt.users')
    expect(envelope(await accounts.post('register', body))).toEqual({ code, message, error })
    expect(await accounts.app.sql('select count(*) from basalt.users')).toEqual(before)
  })

  test.each([
    { email: { $ne: null }, password: goodPassword },
    { email: ['a@example.com'], password: goodPassword },
    { email: 'a@example.com', password: { length: 12 } },
    { email: 'a@example.com', password: 12345678 },
    { email: 'a@example.com', password: 'x'.repeat(10_000) },
    [],
    'text',
    null,
  ])('rejects a body of another shape: %j', async (body) => {
    const response = await accounts.post('register', body)
    expect(response.status).toBe(400)
    expect(response.json).toMatchObject({ code: 400, message: expect.any(String) })
  })

  test('distinguishes passwords beyond 72 bytes', async () => {
    const email = newEmail()
    const long = 'a'.repeat(74)
    await accounts.register(email, `${long}-one`)
    expect((await accounts.post('login', { email, password: `${long}-two` })).status).toBe(401)
    expect((await accounts.post('login', { email, password: `${long}-one` })).status).toBe(200)
  })

  test('lets one of ten concurrent requests with one address through', async () => {
    const email = newEmail()
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => accounts.post('register', { email, password: goodPassword })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
    expect(envelope(responses.find(({ status }) => status === 409) as TestResponse)).toEqual({
      code: 409,
      message: 'email already registered',
      error: 'email_taken',
    })
    expect(
      await accounts.app.sql('select count(*)::int from basalt.users where email = $1', [email]),
    ).toEqual([{ count: 1 }])
  })
})

describe('POST /api/auth/login', () => {
  test('begins no transaction for its session', async () => {
    const { user } = await accounts.register()
    const texts = new Map<object, string[]>()
    const observation = observeStatements(({ text }, connection) => {
      texts.set(connection, [...(texts.get(connection) ?? []), text.trim()])
    })
    try {
      await accounts.post('login', { email: user.email, password: goodPassword })
    } finally {
      observation.stop()
    }
    const insert = 'insert into basalt.sessions'
    const [sent = []] = [...texts.values()].filter((each) => each.some((text) => text.startsWith(insert)))
    const before = sent.slice(
      0,
      sent.findIndex((text) => text.startsWith(insert)),
    )
    expect(sent).not.toEqual([])
    expect(before.findLast((text) => /^(begin|commit|rollback)/.test(text)) ?? 'commit').toBe('commit')
  })

  test('returns new tokens for the right password', async () => {
    const email = newEmail()
    const registered = await accounts.register(email)
    const response = await accounts.post('login', {
      email: ` ${email.toUpperCase()} `,
      password: goodPassword,
    })
    expect(response.status).toBe(200)
    expect(response.json.user).toEqual(registered.user)
    expect(claimsOf(response.json.token).sid).not.toBe(claimsOf(registered.token).sid)
  })

  test.each([
    ['an unknown address', async () => ({ email: newEmail(), password: goodPassword })],
    ['a wrong password', async () => ({ email: (await accounts.register()).user.email, password: 'wrong' })],
    ['blank input', async () => ({ email: '', password: '' })],
    ['no input', async () => ({})],
    ['no address at all', async () => ({ email: 'nobody', password: goodPassword })],
    [
      'a user without a password',
      async () => {
        const email = newEmail()
        await accounts.app.sql('insert into basalt.users (email) values ($1)', [email])
        return { email, password: goodPassword }
      },
    ],
    [
      'a disabled user',
      async () => {
        const { user } = await accounts.register()
        await accounts.app.sql('update basalt.users set disabled_at = now() where id = $1', [user.id])
        return { email: user.email, password: goodPassword }
      },
    ],
  ])('responds alike to %s', async (_name, prepare) => {
    const response = await accounts.post('login', await prepare())
    expect(envelope(response)).toEqual({
      code: 401,
      message: 'invalid email or password',
      error: 'invalid_credentials',
    })
  })

  test('verifies an older hash and replaces it', async () => {
    const email = newEmail()
    await accounts.app.sql('insert into basalt.users (email, password_hash) values ($1, $2)', [
      email,
      await bcrypt('an-old-password', { cost: 6 }),
    ])
    expect((await accounts.post('login', { email, password: 'an-old-passworD' })).status).toBe(401)
    expect((await accounts.post('login', { email, password: 'an-old-password' })).status).toBe(200)
    const [row] = await accounts.app.sql('select password_hash from basalt.users where email = $1', [email])
    expect(row?.password_hash).toMatch(/^\$argon2id\$/)
    expect((await accounts.post('login', { email, password: 'an-old-password' })).status).toBe(200)
  })

  test('starts no session when the password was replaced in the meantime', async () => {
    const { user } = await accounts.register()
    const attempts = Array.from({ length: 5 }, () =>
      accounts.post('login', { email: user.email, password: goodPassword }),
    )
    await accounts.app.sql(`begin;
      update basalt.users set password_hash = null where id = '${user.id}';
      delete from basalt.sessions where user_id = '${user.id}';
      commit`)
    const responses = await Promise.all(attempts)
    for (const response of responses.filter(({ status }) => status === 200)) {
      await expect
        .poll(
          async () =>
            (await accounts.app.request('GET', '/api/auth/me', { token: response.json.token })).status,
        )
        .toBe(401)
    }
    expect(await accounts.app.sql('select 1 from basalt.sessions where user_id = $1', [user.id])).toEqual([])
  })
})
