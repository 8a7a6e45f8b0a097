import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AccountNodes,
  createAccountNodes,
  mailedToken,
  openTransaction,
  waitForJobs,
} from '../../../../../test/account-nodes.ts'
import { claimsOf, goodPassword, newEmail, type SignedIn } from '../../../../../test/accounts.ts'
import {
  approveClient,
  authorizationRequest,
  createClient,
  createProof,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { enroll, newAuthenticator, publicOrigin } from '../../../../../test/passkeys.ts'
import { aal2Session, everySecondFactor, pendingToken, totpUser } from '../../../../../test/second-factors.ts'
import { envelope } from '../../../../../test/test-app.ts'

let nodes: AccountNodes
let client: TestClient
let appId: string
beforeAll(async () => {
  nodes = await createAccountNodes({
    config: {
      ...everySecondFactor,
      'server.public_base_url': publicOrigin,
      'auth.oauth_provider.enabled': 'true',
      'push.enabled': 'true',
    },
  })
  const { app } = nodes.first
  const { user } = await nodes.first.register()
  const body = { name: 'App', ownerUserId: user.id }
  const { json } = await app.request('POST', '/api/admin/apps', { token: await app.adminToken(), body })
  appId = json.id
  client = await createClient(app, { appId })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const proof = createProof()
const send = (method: string, path: string, token: string, body?: unknown) =>
  nodes.second.app.request(method, `/api/auth/${path}`, { token, body })
const rowsOf = async (table: string, { user }: SignedIn) =>
  await nodes.sql(`select to_jsonb(t) - 'last_used_at' as row from basalt.${table} t where user_id = $1`, [
    user.id,
  ])

/** Requests whose effect outlives the session, each with its table. Each one first creates what it needs. */
const requests: Record<
  string,
  readonly [string, (session: SignedIn) => Promise<() => ReturnType<typeof send>>]
> = {
  'make an API key': [
    'api_keys',
    async ({ token }) =>
      () =>
        send('POST', 'api-keys', token, { name: 'key' }),
  ],
  'replace the secret of an API key': [
    'api_keys',
    async ({ token }) => {
      const { apiKey } = (await send('POST', 'api-keys', token, { name: 'key' })).json
      return () => send('POST', `api-keys/${apiKey.id}/rotate`, token)
    },
  ],
  'let a program in': [
    'oauth_consents',
    async ({ token }) => {
      const body = { decision: 'approve', ...authorizationRequest(client, proof) }
      return () => send('POST', 'authorize/consent', token, body)
    },
  ],
  'give a program a code': [
    'oauth_codes',
    async ({ token }) => {
      await approveClient(nodes.first.app, token, client, proof)
      const query = new URLSearchParams(Object.entries(authorizationRequest(client, proof)))
      return () => send('GET', `authorize?${query}`, token)
    },
  ],
  'begin to enrol an app': [
    'mfa_factors',
    async ({ token }) => {
      const [factor] = (await send('GET', 'mfa/factors', token)).json.factors
      await send('DELETE', `mfa/factors/${factor.id}`, token)
      return () => send('POST', 'mfa/totp/enroll', token)
    },
  ],
  'begin to enrol a phone': [
    'mfa_factors',
    async ({ token }) =>
      () =>
        send('POST', 'mfa/sms/enroll', token, { phone: '+12025550123' }),
  ],
  'begin to enrol a passkey': [
    'mfa_challenges',
    async ({ token }) =>
      () =>
        send('POST', 'mfa/webauthn/enroll', token),
  ],
  'make backup codes': [
    'mfa_backup_codes',
    async ({ token }) =>
      () =>
        send('POST', 'mfa/backup/generate', token),
  ],
  'remove a factor': [
    'mfa_factors',
    async ({ token }) => {
      const [factor] = (await send('GET', 'mfa/factors', token)).json.factors
      return () => send('DELETE', `mfa/factors/${factor.id}`, token)
    },
  ],
  'remove a passkey': [
    'passkeys',
    async ({ token }) => {
      for (let count = 0; count < 2; count += 1) {
        expect((await enroll(nodes.first, token, newAuthenticator())).status).toBe(200)
      }
      const [passkey] = (await send('GET', 'mfa/webauthn/credentials', token)).json.credentials
      return () => send('DELETE', `mfa/webauthn/credentials/${passkey.credential_id}`, token)
    },
  ],
  'remove all passkeys': [
    'passkeys',
    async ({ token }) => {
      expect((await enroll(nodes.first, token, newAuthenticator())).status).toBe(200)
      return () => send('DELETE', 'mfa/webauthn', token)
    },
  ],
  'unlink a provider': [
    'social_identities',
    async ({ token, user }) => {
      await nodes.sql(
        `insert into basalt.social_identities (provider, subject, user_id, is_proven) values ('github', $1::text, $1::uuid, true)`,
        [user.id],
      )
      return () => send('DELETE', 'link/oauth', token, { provider: 'github' })
    },
  ],
  'register a device': [
    'push_devices',
    async ({ token }) => {
      const body = { app_id: appId, provider: 'fcm', platform: 'android', token: 'phone' }
      return () => nodes.second.app.request('POST', '/api/push/devices', { token, body })
    },
  ],
  'delete the account': [
    'mfa_factors',
    async ({ token }) =>
      () =>
        send('DELETE', 'me', token),
  ],
}

/** Sends the request while another transaction locks the user and ends the session. */
async function sendAsSessionEnds(session: SignedIn, request: () => ReturnType<typeof send>) {
  // A pending mail to the user would wait too.
  await waitForJobs(nodes)
  await using ending = await openTransaction(nodes.database)
  await ending.sql('select from basalt.users where id = $1 for update', [session.user.id])
  const response = request()
  await ending.waitForBlocked()
  await ending.sql('delete from basalt.sessions where id = $1', [claimsOf(session.token).sid])
  await ending.commit()
  return envelope(await response)
}

const invalidToken = { code: 401, message: 'invalid or expired token', error: 'invalid_token' }

test.each(Object.entries(requests))(
  'accounts › a session that ends before the request completes does not %s',
  async (_name, [table, prepare]) => {
    const session = await aal2Session(nodes.first, await totpUser(nodes.first))
    const request = await prepare(session)
    const before = await rowsOf(table, session)
    expect(await sendAsSessionEnds(session, request)).toEqual(invalidToken)
    expect(await rowsOf(table, session)).toEqual(before)
  },
)

test.each<[string, (session: SignedIn, email: string) => Promise<() => ReturnType<typeof send>>]>([
  [
    'an address and a password',
    async ({ token }, email) =>
      () =>
        send('POST', 'link/email', token, { email, password: goodPassword }),
  ],
  [
    'an address by a mailed link',
    async ({ token }, email) => {
      const link = await mailedToken(nodes.first, 'magic-link', email)
      return () => send('POST', 'magic-link/confirm', token, { token: link })
    },
  ],
])(
  'accounts › an anonymous session that ends before the request completes does not link %s',
  async (_name, prepare) => {
    const session: SignedIn = (await nodes.first.post('anonymous')).json
    const email = newEmail()
    const request = await prepare(session, email)
    expect(await sendAsSessionEnds(session, request)).toEqual(invalidToken)
    expect(
      await nodes.sql('select email, is_anonymous from basalt.users where id = $1', [session.user.id]),
    ).toEqual([{ email: null, is_anonymous: true }])
  },
)

test.each(['totp', 'email', 'webauthn'])(
  'accounts › a user who is deleted before the %s challenge of a sign-in gets no challenge',
  async (method) => {
    const user = await totpUser(nodes.first)
    const { token } = await aal2Session(nodes.first, user)
    if (method === 'email') {
      await nodes.sql(
        "insert into basalt.mfa_factors (user_id, method, confirmed_at) values ($1, 'email', now())",
        [user.user.id],
      )
    }
    if (method === 'webauthn') {
      expect((await enroll(nodes.first, token, newAuthenticator())).status).toBe(200)
    }
    const pending = await pendingToken(nodes.first, user.user.email)
    await waitForJobs(nodes)
    await using deletion = await openTransaction(nodes.database)
    await deletion.sql('select from basalt.users where id = $1 for update', [user.user.id])
    const response = send('POST', `mfa/${method}/challenge`, pending)
    await deletion.waitForBlocked()
    await deletion.sql('delete from basalt.users where id = $1', [user.user.id])
    await deletion.commit()
    expect(envelope(await response)).toEqual({
      code: 401,
      message: 'no MFA challenge pending',
      error: 'no_pending_mfa',
    })
  },
)
