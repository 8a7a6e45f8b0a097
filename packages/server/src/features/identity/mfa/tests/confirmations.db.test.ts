import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  countStatuses,
  createAccountNodes,
  openTransaction,
} from '../../../../../test/account-nodes.ts'
import {
  type AccountsApp,
  claimsOf,
  goodPassword,
  newEmail,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { newAuthenticator, publicOrigin } from '../../../../../test/passkeys.ts'
import { everySecondFactor, sentCode, totpCode } from '../../../../../test/second-factors.ts'
import { envelope, type TestResponse } from '../../../../../test/test-app.ts'

let nodes: AccountNodes
beforeAll(async () => {
  nodes = await createAccountNodes({
    config: { ...everySecondFactor, 'server.public_base_url': publicOrigin },
  })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const needsAal2 = {
  code: 403,
  message: 'AAL2 session required to enroll additional MFA factors',
  error: 'insufficient_aal',
}

type Confirm = (node: AccountsApp) => Promise<TestResponse>
let phones = 0

/** Functions that start an enrolment and return how to confirm it. */
const begin: Record<string, (user: SignedIn) => Promise<Confirm>> = {
  async totp({ token }) {
    const { secret } = (await nodes.first.post('mfa/totp/enroll', undefined, token)).json
    return (node) => node.post('mfa/totp/enroll/confirm', { code: totpCode(secret) }, token)
  },
  async email({ token, user }) {
    await nodes.inbox.take(user.email)
    expect((await nodes.first.post('mfa/email/enroll', undefined, token)).status).toBe(200)
    const code = await sentCode(nodes.first, user.email)
    return (node) => node.post('mfa/email/enroll/confirm', { code }, token)
  },
  async sms({ token }) {
    phones += 1
    const phone = `+1202556${String(phones).padStart(4, '0')}`
    expect((await nodes.first.post('mfa/sms/enroll', { phone }, token)).status).toBe(200)
    const code = await sentCode(nodes.first, phone)
    return (node) => node.post('mfa/sms/enroll/confirm', { code }, token)
  },
  async webauthn({ token }) {
    const options = await nodes.first.post('mfa/webauthn/enroll', undefined, token)
    const attestation_response = newAuthenticator().create(options.json)
    return (node) => node.post('mfa/webauthn/enroll/confirm', { attestation_response }, token)
  },
}
const methods = Object.keys(begin)
const beginAs = (method: string, user: SignedIn) => {
  const start = begin[method]
  if (start === undefined) throw new Error(method)
  return start(user)
}
const factorsOf = async ({ user }: SignedIn) =>
  (
    await nodes.sql(
      'select method from basalt.mfa_factors where user_id = $1 and confirmed_at is not null order by method',
      [user.id],
    )
  ).map((row) => row.method)

describe('mfa › confirming an enrolment', () => {
  test.each(methods)('rejects %s that started at aal1 once another factor is confirmed', async (method) => {
    const user = await nodes.first.register()
    const confirm = await beginAs(method, user)
    const other = method === 'totp' ? 'sms' : 'totp'
    expect((await (await beginAs(other, user))(nodes.second)).status).toBe(200)
    for (const node of nodes.both) expect(envelope(await confirm(node))).toEqual(needsAal2)
    expect(await factorsOf(user)).toEqual([other])
    expect(await nodes.sql('select 1 from basalt.passkeys where user_id = $1', [user.user.id])).toEqual([])
  })

  test.each([
    ['totp', 'email'],
    ['sms', 'webauthn'],
    ['webauthn', 'totp'],
    ['email', 'sms'],
  ])('confirms one of %s and %s at once on two nodes', async (one, other) => {
    const user = await nodes.first.register()
    const [first, second] = [await beginAs(one, user), await beginAs(other, user)]
    await using holder = await openTransaction(nodes.database)
    await holder.sql('select 1 from basalt.users where id = $1 for update', [user.user.id])
    const responses = [first(nodes.first), second(nodes.second)]
    await holder.waitForBlocked(2)
    await holder.commit()
    const answers = await Promise.all(responses)
    expect(countStatuses(answers)).toEqual({ 200: 1, 403: 1 })
    expect(await factorsOf(user)).toEqual([answers[0]?.status === 200 ? one : other])
  })

  test('confirms one factor once for ten concurrent requests on two nodes', async () => {
    const user = await nodes.first.register()
    const confirm = await beginAs('totp', user)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => confirm(index % 2 === 0 ? nodes.first : nodes.second)),
    )
    const { 200: succeeded, ...refused } = countStatuses(responses)
    expect(succeeded).toBe(1)
    for (const status of Object.keys(refused)) expect(['401', '403', '404']).toContain(status)
    expect(await factorsOf(user)).toEqual(['totp'])
  })

  test.each(methods)('rejects %s when the session has ended since the start', async (method) => {
    const user = await nodes.first.register()
    const confirm = await beginAs(method, user)
    await using holder = await openTransaction(nodes.database)
    await holder.sql('select 1 from basalt.users where id = $1 for update', [user.user.id])
    const response = confirm(nodes.second)
    await holder.waitForBlocked()
    await holder.sql('delete from basalt.sessions where id = $1', [claimsOf(user.token).sid])
    await holder.commit()
    expect((await response).status).toBe(401)
    expect(await factorsOf(user)).toEqual([])
  })

  test.each(methods)('rejects %s that started more than ten minutes ago', async (method) => {
    const user = await nodes.first.register()
    const confirm = await beginAs(method, user)
    await nodes.sql(
      `update basalt.mfa_factors set created_at = now() - interval '601 s' where user_id = $1`,
      [user.user.id],
    )
    await nodes.sql(
      `update basalt.mfa_challenges set created_at = now() - interval '601 s', expires_at = now() - interval '1 s'
       where user_id = $1`,
      [user.user.id],
    )
    const response = await confirm(nodes.second)
    expect(response.status).toBe({ totp: 404, email: 410, sms: 401, webauthn: 400 }[method])
    expect(await factorsOf(user)).toEqual([])
  })

  test('rejects a valid sent code when the enrolment started more than ten minutes ago', async () => {
    const user = await nodes.first.register()
    const confirm = await beginAs('sms', user)
    await nodes.sql(
      `update basalt.mfa_factors set created_at = now() - interval '601 s' where user_id = $1`,
      [user.user.id],
    )
    expect((await confirm(nodes.second)).status).toBe(404)
    expect(await factorsOf(user)).toEqual([])
  })

  test('rejects email when the code was sent to an address that the account no longer has', async () => {
    const user = await nodes.first.register()
    await nodes.inbox.take(user.user.email)
    expect((await nodes.first.post('mfa/email/enroll', undefined, user.token)).status).toBe(200)
    const code = await sentCode(nodes.first, user.user.email)
    const email = newEmail()
    const moved = await nodes.first.app.request('PATCH', `/api/admin/users/${user.user.id}`, {
      token: await nodes.first.app.adminToken(),
      body: { email },
    })
    expect(moved.status).toBe(200)
    const { token } = (await nodes.first.post('login', { email, password: goodPassword })).json
    expect(envelope(await nodes.second.post('mfa/email/enroll/confirm', { code }, token))).toEqual({
      code: 404,
      message: 'no pending email MFA enrollment found',
      error: 'no_email_mfa_enrollment',
    })
    expect(await factorsOf(user)).toEqual([])
    const { json } = await nodes.first.app.request('GET', '/api/auth/me', { token })
    expect(json.emailVerified).toBe(false)
  })

  test('verifies the address by email, which shows in the next token', async () => {
    const email = newEmail()
    const user = await nodes.first.register(email)
    expect(claimsOf(user.token).email_verified).toBe(false)
    expect((await (await beginAs('email', user))(nodes.second)).status).toBe(200)
    const refreshed = await nodes.second.post('refresh', { refreshToken: user.refreshToken })
    expect(refreshed.json.user.emailVerified).toBe(true)
    expect(claimsOf(refreshed.json.token).email_verified).toBe(true)
  })
})
