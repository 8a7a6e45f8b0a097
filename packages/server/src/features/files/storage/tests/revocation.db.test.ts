import { mkdtemp, rm } from 'node:fs/promises'
import { request as openRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  createAccountNodes,
  mailedToken,
  openTransaction,
} from '../../../../../test/account-nodes.ts'
import {
  type AccountsApp,
  createAccountsApp,
  goodPassword,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { createClient, obtainTokens, postForm, requestToken } from '../../../../../test/oauth.ts'
import type { TestApp, TestResponse } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { defaultAppId } from '../../../../http/access/identity.ts'
import { applyTemplate, createBucket, exchange, get, problem, put } from './storage-requests.ts'

let nodes: AccountNodes
let app: TestApp
let second: TestApp
let admin: string
/** Bucket in which users write under their own name. */
let own: string
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'basalt-revocation-'))
  nodes = await createAccountNodes({
    config: {
      'storage.enabled': 'true',
      'storage.local_path': directory,
      'push.enabled': 'true',
      'auth.oauth_provider.enabled': 'true',
    },
  })
  app = nodes.first.app
  second = nodes.second.app
  admin = await app.adminToken()
  own = await createBucket(app)
  await applyTemplate(app, 'user-own-files', { bucket: own })
})
afterAll(async () => {
  await nodes[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const endedAddress = [403, 'invalid or expired signed URL', 'invalid_signed_url']
const endedUpload = 410
const tus = { 'tus-resumable': '1.0.0' }

const sign = async (path: string, token: string, verb = 'sign', node = app): Promise<TestResponse> =>
  await exchange(node, 'POST', `${path}/${verb}`, token, JSON.stringify({ expiresIn: 604_800 }), {
    'content-type': 'application/json',
  })
const open = (url: string, method = 'GET', body?: string, node = second) =>
  exchange(node, method, url.replace('/api/storage', ''), undefined, body, {})

let count = 0

/** Creates for a caller a file with an address to read it, an address to write to, and an upload that has begun. */
async function leaveBehind(token: string, bucket = own) {
  count += 1
  const name = `file-${count}`
  expect((await put(app, `/${bucket}/${name}`, token, 'content')).status).toBe(201)
  const download: string = (await sign(`/${bucket}/${name}`, token)).json.url
  const upload: string = (await sign(`/${bucket}/planted-${count}`, token, 'sign-upload')).json.url
  const begun = await exchange(
    app,
    'POST',
    `/upload/resumable?bucket=${bucket}&name=resumed-${count}`,
    token,
    undefined,
    { ...tus, 'upload-length': '3' },
  )
  return { name, download, upload, resumable: begun.json.id as string }
}

type LeftBehind = Awaited<ReturnType<typeof leaveBehind>>

/**
 * Returns the statuses of its use on the other node. The addresses are opened without a token, and the upload with a
 * token of the same user.
 */
async function stillOpens({ download, upload, resumable }: LeftBehind, token: string) {
  const resumed = await exchange(second, 'HEAD', `/upload/resumable/${resumable}`, token, undefined, tus)
  return [(await open(download)).status, (await open(upload, 'PUT', 'x')).status, resumed.status]
}

const everything = [200, 201, 200]
const nothing = [403, 403, endedUpload]

async function signIn({ post }: AccountsApp, email: string, password = goodPassword): Promise<SignedIn> {
  return (await post('login', { email, password })).json
}

describe('storage › access granted in a session', () => {
  /** Functions that end a session. Each returns a token of the same user afterwards. */
  const ends: Record<string, (user: SignedIn) => Promise<string>> = {
    async 'its sign-out'({ refreshToken, user }) {
      await nodes.first.post('logout', { refreshToken })
      return (await signIn(nodes.first, user.email)).token
    },
    async 'a sign-out elsewhere'({ user }) {
      const { token } = await signIn(nodes.second, user.email)
      expect(
        (await app.request('DELETE', '/api/auth/sessions?all_except_current=true', { token })).status,
      ).toBe(204)
      return token
    },
    async 'a password reset'({ user }) {
      const token = await mailedToken(nodes.second, 'password-reset', user.email)
      const password = 'juniper-lantern-77'
      expect((await nodes.second.post('password-reset/confirm', { token, password })).status).toBe(200)
      return (await signIn(nodes.first, user.email, password)).token
    },
    async 'a takeover of the unverified account by magic link'({ user }) {
      const token = await mailedToken(nodes.second, 'magic-link', user.email)
      return (await nodes.second.post('magic-link/confirm', { token })).json.token
    },
    async 'an administrator who disables the user, and enables them again'({ user }) {
      for (const verb of ['disable', 'enable']) {
        const changed = await app.request('POST', `/api/admin/users/${user.id}/${verb}`, { token: admin })
        expect(changed.status).toBe(200)
      }
      return (await signIn(nodes.first, user.email)).token
    },
    async 'SQL that deletes the session'({ user }) {
      await nodes.sql('delete from basalt.sessions where user_id = $1', [user.id])
      return (await signIn(nodes.first, user.email)).token
    },
  }

  test.each(Object.entries(ends))('ends with %s, at once and on the other node', async (_name, end) => {
    const user = await nodes.first.register()
    const left = await leaveBehind(user.token)
    const late = await leaveBehind(user.token)
    expect(await stillOpens(left, user.token)).toEqual(everything)
    expect(await stillOpens(late, await end(user))).toEqual(nothing)
    expect(problem(await open(left.download))).toEqual(endedAddress)
    expect(problem(await open(`${left.download}&w=10`))).toEqual(endedAddress)
    expect(problem(await open(left.upload, 'PUT', 'x'))).toEqual(endedAddress)
  })

  test('outlives the session that only expires, until its user ends the sessions', async () => {
    const user = await nodes.first.register()
    const left = await leaveBehind(user.token)
    await nodes.sql(`update basalt.sessions set expires_at = now() - interval '1 s' where user_id = $1`, [
      user.user.id,
    ])
    await nodes.sql('delete from basalt.sessions where expires_at < now()')
    expect(await nodes.sql('select from basalt.sessions where user_id = $1', [user.user.id])).toEqual([])
    const { token } = await signIn(nodes.first, user.user.email)
    expect(await stillOpens(left, token)).toEqual(everything)
    expect(
      (await app.request('DELETE', '/api/auth/sessions?all_except_current=true', { token })).status,
    ).toBe(204)
    const again = (await leaveBehind(token)) satisfies LeftBehind
    expect([(await open(left.download)).status, (await open(again.download)).status]).toEqual([403, 200])
  })

  test('signed by a version before ends with any session of its user', async () => {
    const user = await nodes.first.register()
    const other = await signIn(nodes.first, user.user.email)
    const [left, neighbour] = [
      await leaveBehind(user.token),
      await leaveBehind((await nodes.first.register()).token),
    ]
    for (const table of ['signed_addresses', 'resumable_uploads']) {
      await nodes.sql(`update basalt.${table} set session_id = null where name in ($1, $2, $3)`, [
        left.name,
        left.name.replace('file', 'planted'),
        left.name.replace('file', 'resumed'),
      ])
    }
    expect(await stillOpens(left, user.token)).toEqual(everything)
    await nodes.first.post('logout', { refreshToken: other.refreshToken })
    expect(await stillOpens(left, user.token)).toEqual(nothing)
    expect((await open(neighbour.download)).status).toBe(200)
  })

  const signings = {
    'an address to read': (token: string, name: string) => sign(`/${own}/${name}`, token, 'sign', second),
    'an address to write': (token: string) => sign(`/${own}/planted`, token, 'sign-upload', second),
    'an upload': (token: string) =>
      exchange(second, 'POST', `/upload/resumable?bucket=${own}&name=planted`, token, undefined, {
        ...tus,
        'upload-length': '3',
      }),
  }

  test.each(Object.entries(signings))(
    'is not granted while the session ends, on a node that has not been notified: %s',
    async (_name, make) => {
      const { user, token } = await nodes.first.register()
      const name = `raced-${user.id}`
      expect((await put(app, `/${own}/${name}`, token, 'x')).status).toBe(201)
      await using transaction = await openTransaction(nodes.database)
      await transaction.sql('delete from basalt.sessions where user_id = $1', [user.id])
      const amid = make(token, name)
      await transaction.waitForBlocked()
      await transaction.commit()
      expect((await amid).status).toBe(401)
      for (const table of ['signed_addresses', 'resumable_uploads']) {
        expect(await nodes.sql(`select from basalt.${table} where user_id = $1`, [user.id])).toEqual([])
      }
    },
  )

  test('is not kept where its bytes come after the end of the session', async () => {
    const user = await nodes.first.register()
    const { upload } = await leaveBehind(user.token)
    const begun = [
      await beginSlowly('PUT', `${upload}`, undefined),
      await beginSlowly('PUT', `/api/storage/${own}/slow-${count}`, user.token),
    ]
    await nodes.first.post('logout', { refreshToken: user.refreshToken })
    // Credentials are checked a second time only for uploads that take more than a second.
    const begunAt = performance.now()
    await waitFor('the upload to last more than a second', () => performance.now() - begunAt > 1000)
    expect(await Promise.all(begun.map((finish) => finish()))).toEqual([403, 401])
    const rows = await nodes.sql('select name from basalt.objects where user_id = $1 and name like $2', [
      user.user.id,
      'slow-%',
    ])
    expect(rows).toEqual([])
  })

  test('ends for push devices of the session, unless an administrator registered the device', async () => {
    const { user, token, refreshToken } = await nodes.first.register()
    const device = { app_id: defaultAppId, provider: 'fcm', platform: 'android' }
    const registered = async (name: string, bearer: string, body: object = {}) => {
      const path = bearer === admin ? '/api/admin/push/devices' : '/api/push/devices'
      const response = await app.request('POST', path, {
        token: bearer,
        body: { ...device, token: `${name} of ${user.id}`, device_name: name, ...body },
      })
      expect(response.status).toBe(201)
    }
    const other = await signIn(nodes.second, user.email)
    await registered('phone', token)
    await registered('tablet', other.token)
    await registered('moved', token)
    await registered('moved', other.token)
    await registered('kiosk', admin, { user_id: user.id })
    await nodes.first.post('logout', { refreshToken })
    const devices = await nodes.sql(
      'select device_name, is_active, inactive_reason from basalt.push_devices where user_id = $1 order by 1',
      [user.id],
    )
    expect(devices).toEqual([
      { device_name: 'kiosk', is_active: true, inactive_reason: null },
      { device_name: 'moved', is_active: true, inactive_reason: null },
      { device_name: 'phone', is_active: false, inactive_reason: 'revoked' },
      { device_name: 'tablet', is_active: true, inactive_reason: null },
    ])
    await app.request('DELETE', `/api/admin/users/${user.id}/sessions`, { token: admin })
    expect(
      await nodes.sql('select device_name from basalt.push_devices where user_id = $1 and is_active', [
        user.id,
      ]),
    ).toEqual([{ device_name: 'kiosk' }])
  })

  test('keeps a write with an Idempotency-Key a single write after a new sign-in', async () => {
    const { user, token, refreshToken } = await nodes.first.register()
    const write = (bearer: string, node: TestApp) =>
      exchange(node, 'PUT', `/${own}/once-${user.id}`, bearer, 'content', { 'idempotency-key': user.id })
    const first = await write(token, app)
    await nodes.first.post('logout', { refreshToken })
    const again = await write((await signIn(nodes.second, user.email)).token, second)
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      201,
      'true',
    ])
    expect(again.json).toEqual(first.json)
    const neighbour = await write((await nodes.first.register()).token, second)
    expect([neighbour.status, neighbour.headers.get('idempotency-replayed')]).toEqual([403, null])
  })

  test('ends with the sign-out of an administrator, and with the password', async () => {
    const bucket = await createBucket(app)
    await put(app, `/${bucket}/a`, admin, 'x')
    const administrator = async () =>
      (await app.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })).json
        .token as string
    const [one, other] = [await administrator(), await administrator()]
    const [ofOne, ofOther] = [
      (await sign(`/${bucket}/a`, one)).json.url,
      (await sign(`/${bucket}/a`, other)).json.url,
    ]
    await app.request('POST', '/api/admin/auth/logout', { token: one })
    expect([problem(await open(ofOne)), (await open(ofOther)).text]).toEqual([endedAddress, 'x'])
    await nodes.sql(
      `update basalt.admin_sessions set expires_at = now() - interval '1 s' where token_hash = sha256($1)`,
      [Buffer.from(other)],
    )
    await administrator()
    expect((await open(ofOther)).text).toBe('x')
    await nodes.sql(`update basalt.admin set password_hash = password_hash || ' '`)
    expect(problem(await open(ofOther))).toEqual(endedAddress)
    await nodes.sql('update basalt.admin set password_hash = rtrim(password_hash)')
  })

  test('holds across a restart', async () => {
    const user = await nodes.first.register()
    const [ended, kept] = [
      await leaveBehind(user.token),
      await leaveBehind((await nodes.first.register()).token),
    ]
    await nodes.first.post('logout', { refreshToken: user.refreshToken })
    const third = await createAccountsApp({
      database: nodes.database,
      inbox: nodes.inbox,
      config: { 'storage.enabled': 'true', 'storage.local_path': directory },
    })
    const opened = [ended, kept].map(({ download }) => open(download, 'GET', undefined, third.app))
    expect((await Promise.all(opened)).map(({ status }) => status)).toEqual([403, 200])
    await third[Symbol.asyncDispose]()
  })
})

describe('storage › access granted by an OAuth grant or an API key', () => {
  test('ends with the grant for every way of revocation, and other grants of the client keep theirs', async () => {
    const { token } = await nodes.first.register()
    const client = await createClient(app, { appId: defaultAppId })
    const tokens = [await obtainTokens(app, token, client), await obtainTokens(app, token, client)] as const
    const [one, other] = [
      await leaveBehind(tokens[0].access_token),
      await leaveBehind(tokens[1].access_token),
    ]
    await postForm(app, '/api/auth/revoke', { token: tokens[0].refresh_token })
    expect(await stillOpens(one, token)).toEqual(nothing)
    expect((await open(other.download)).status).toBe(200)
    const items = (await app.request('GET', '/api/auth/grants', { token })).json
    expect((await app.request('DELETE', `/api/auth/grants/${items[0].id}`, { token })).status).toBe(204)
    expect(await stillOpens(other, token)).toEqual(nothing)
  })

  test('ends for client credentials with the only token', async () => {
    const { clientId, clientSecret } = await createClient(app, { appId: defaultAppId })
    const bucket = await createBucket(app)
    await applyTemplate(app, 'bucket-scoped', { bucket })
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    const token = (await requestToken(app, { ...form, scope: 'readwrite' })).json.access_token
    const { download } = await leaveBehind(token, bucket)
    expect((await open(download)).status).toBe(200)
    await postForm(app, '/api/auth/revoke', { token })
    expect(problem(await open(download))).toEqual(endedAddress)
  })

  test('ends with the key, an upload also for another credential of its user; sign-outs leave it', async () => {
    const user = await nodes.first.register()
    const { key, apiKey } = await createApiKey(app, { userId: user.user.id, scope: 'readwrite' })
    const left = await leaveBehind(key)
    await nodes.first.post('logout', { refreshToken: user.refreshToken })
    const { token } = await signIn(nodes.first, user.user.email)
    expect(await stillOpens(left, token)).toEqual(everything)
    await app.request('DELETE', `/api/admin/api-keys/${apiKey.id}`, { token: admin })
    expect(await stillOpens(left, token)).toEqual(nothing)
  })
})

test('addresses of an object end when it becomes another user’s', async () => {
  const [from, to] = [await nodes.first.register(), await nodes.first.register()]
  const left = await leaveBehind(from.token)
  const onto = (await sign(`/${own}/${left.name}`, from.token, 'sign-upload')).json.url
  await nodes.sql('update basalt.objects set user_id = $1 where name = $2', [to.user.id, left.name])
  expect(problem(await open(left.download))).toEqual(endedAddress)
  expect(problem(await open(onto, 'PUT', 'x'))).toEqual(endedAddress)
  expect((await open(left.upload, 'PUT', 'x')).status).toBe(201)
  expect((await get(second, `/${own}/${left.name}`, to.token)).text).toBe('content')
})

/** Sends the beginning of a body. @returns a function that sends the rest and returns the status */
async function beginSlowly(method: string, path: string, token: string | undefined) {
  const request = openRequest(`${app.url}${path}`, {
    method,
    headers: {
      'content-length': '2',
      'content-type': 'text/plain',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  })
  const status = new Promise<number | undefined>((resolve, reject) => {
    request.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
  })
  const staged = async () =>
    (await nodes.sql(`select from basalt.stored_bytes where state = 'staged'`)).length
  const before = await staged()
  request.write('a')
  await expect.poll(staged).toBe(before + 1)
  return async () => {
    request.end('b')
    return await status
  }
}
