import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  countStatuses,
  createAccountNodes,
  openTransaction,
  together,
} from '../../../../../test/account-nodes.ts'
import {
  enroll,
  newAuthenticator,
  passkeyUser,
  passSecondFactor,
  publicOrigin,
  signInByEmail,
} from '../../../../../test/passkeys.ts'
import { everySecondFactor, pendingToken } from '../../../../../test/second-factors.ts'
import { userToken } from '../../../../../test/test-app.ts'

/** Ten requests that are released together, every other one to a second process on the same database. */

let nodes: AccountNodes
beforeAll(async () => {
  nodes = await createAccountNodes({
    config: { ...everySecondFactor, 'server.public_base_url': publicOrigin },
  })
})
beforeEach(() => nodes.sql('delete from basalt.attempts'))
afterAll(() => nodes[Symbol.asyncDispose]())

const countOf = async (table: string, userId: string) => {
  const [row] = await nodes.sql(`select count(*)::int from basalt.${table} where user_id = $1`, [userId])
  return row?.count
}
const signCountOf = async (userId: string) =>
  (await nodes.sql('select sign_count from basalt.passkeys where user_id = $1', [userId]))[0]?.sign_count

describe.each([
  ['that counts', true, '1'],
  ['that does not count', false, '0'],
])('passkey races › one assertion of a passkey %s', (_name, counts, signCount) => {
  test('signs in once by email', async () => {
    const user = await passkeyUser(nodes.first, newAuthenticator({ counts }))
    const { challenge_id, options } = (
      await nodes.first.post('webauthn/login/begin', { email: user.user.email })
    ).json
    const assertion_response = user.authenticator.get(options)
    const body = { challenge_id, assertion_response }
    const responses = await together(nodes, 10, (node) => node.post('webauthn/login/finish', body))
    expect(countStatuses(responses)).toEqual({ 200: 1, 409: 9 })
    expect(await countOf('sessions', user.user.id)).toBe(2)
    expect(await signCountOf(user.user.id)).toBe(signCount)
  })

  test('signs in once discoverably', async () => {
    const user = await passkeyUser(nodes.first, newAuthenticator({ counts }))
    const { challenge_id, options } = (await nodes.first.post('webauthn/login/discover/begin')).json
    const body = { challenge_id, assertion_response: user.authenticator.get(options) }
    const responses = await together(nodes, 10, (node) => node.post('webauthn/login/discover/finish', body))
    expect(countStatuses(responses)).toEqual({ 200: 1, 409: 9 })
    expect(await countOf('sessions', user.user.id)).toBe(2)
  })

  test('completes one second factor', async () => {
    const user = await passkeyUser(nodes.first, newAuthenticator({ counts }))
    const tokens = await Promise.all([1, 2].map(() => pendingToken(nodes.first, user.user.email)))
    const { challenge_id, options } = (await nodes.first.post('mfa/webauthn/challenge', undefined, tokens[0]))
      .json
    const body = { challenge_id, assertion_response: user.authenticator.get(options) }
    const responses = await together(nodes, 10, (node, index) =>
      node.post('mfa/webauthn/verify', body, tokens[index < 5 ? 0 : 1]),
    )
    expect(countStatuses(responses)).toEqual({ 200: 1, 409: 9 })
    expect(await countOf('sessions', user.user.id)).toBe(2)
  })
})

test('passkey races › one of ten assertions with the same counter passes', async () => {
  const user = await passkeyUser(nodes.first)
  const bodies = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { challenge_id, options } = (await nodes.first.post('webauthn/login/discover/begin')).json
      return { challenge_id, assertion_response: user.authenticator.get(options, { signCount: 5 }) }
    }),
  )
  const responses = await together(nodes, 10, (node, index) =>
    node.post('webauthn/login/discover/finish', bodies[index]),
  )
  expect(countStatuses(responses)).toEqual({ 200: 1, 401: 9 })
  const errors = responses.flatMap(({ status, json }) => (status === 401 ? [json.error] : []))
  expect(new Set(errors)).toEqual(new Set(['cloned_authenticator']))
  expect(await signCountOf(user.user.id)).toBe('5')
})

test('passkey races › ten concurrent sign-ins by a synced passkey all pass', async () => {
  const user = await passkeyUser(nodes.first, newAuthenticator({ counts: false, isBackupEligible: true }))
  const responses = await together(nodes, 10, (node) =>
    signInByEmail(node, user.user.email, user.authenticator),
  )
  expect(countStatuses(responses)).toEqual({ 200: 10 })
})

test('passkey races › one confirmation adds one passkey', async () => {
  const { token, user } = await nodes.first.register()
  const options = (await nodes.first.post('mfa/webauthn/enroll', undefined, token)).json
  const body = { display_name: 'x', attestation_response: newAuthenticator().create(options) }
  const responses = await together(nodes, 10, (node) => node.post('mfa/webauthn/enroll/confirm', body, token))
  expect(countStatuses(responses)).toEqual({ 200: 1, 400: 9 })
  expect(await countOf('passkeys', user.id)).toBe(1)
  expect(await countOf('mfa_factors', user.id)).toBe(1)
})

test('passkey races › ten passkeys for one challenge add one', async () => {
  const { token, user } = await nodes.first.register()
  const options = (await nodes.first.post('mfa/webauthn/enroll', undefined, token)).json
  const responses = await together(nodes, 10, (node) => {
    const attestation_response = newAuthenticator().create(options)
    return node.post('mfa/webauthn/enroll/confirm', { attestation_response }, token)
  })
  expect(countStatuses(responses)).toEqual({ 200: 1, 400: 9 })
  expect(await countOf('passkeys', user.id)).toBe(1)
})

test('passkey races › one of ten users gets a passkey that all of them enrol', async () => {
  const users = await nodes.sql(
    `insert into basalt.users (email) select 'racer' || n || '@example.com' from generate_series(1, 10) n returning id`,
  )
  const tokens = users.map(({ id }) => userToken({ sub: id }))
  const id = Buffer.from(crypto.randomUUID())
  const bodies = await Promise.all(
    tokens.map(async (token) => {
      const options = (await nodes.first.post('mfa/webauthn/enroll', undefined, token)).json
      return { attestation_response: newAuthenticator().create(options, { id }) }
    }),
  )
  const responses = await together(nodes, 10, (node, index) =>
    node.post('mfa/webauthn/enroll/confirm', bodies[index], tokens[index]),
  )
  expect(countStatuses(responses)).toEqual({ 200: 1, 409: 9 })
  const factors = await nodes.sql(
    `select count(*)::int from basalt.mfa_factors f where user_id = any($1)
       and not exists (select 1 from basalt.passkeys p where p.user_id = f.user_id)`,
    [users.map((user) => user.id)],
  )
  expect(factors).toEqual([{ count: 0 }])
})

test('passkey races › one of two passkeys deleted at the same time stays', async () => {
  const user = await passkeyUser(nodes.first)
  const { json: session } = await passSecondFactor(nodes.first, user.user.email, user.authenticator)
  const second = newAuthenticator()
  expect((await enroll(nodes.first, session.token, second)).status).toBe(200)
  const ids = [user.credentialId, second.passkeys[0]?.id.toString('base64url')]
  const responses = await together(nodes, 10, (node, index) =>
    node.app.request('DELETE', `/api/auth/mfa/webauthn/credentials/${ids[index % 4 < 2 ? 0 : 1]}`, {
      token: session.token,
    }),
  )
  expect(countStatuses(responses)[204]).toBe(1)
  expect(await countOf('passkeys', user.user.id)).toBe(1)
})

describe('passkey races › a sign-in in flight', () => {
  test('waits for a change of the account, and is rejected when its passkey is deleted', async () => {
    const user = await passkeyUser(nodes.first)
    await using change = await openTransaction(nodes.first.app.database)
    await change.sql('select 1 from basalt.users where id = $1 for update', [user.user.id])
    const signIn = signInByEmail(nodes.second, user.user.email, user.authenticator)
    await change.waitForBlocked()
    await change.sql('delete from basalt.mfa_factors where user_id = $1', [user.user.id])
    await change.sql('delete from basalt.passkeys where user_id = $1', [user.user.id])
    await change.commit()
    expect((await signIn).status).toBe(401)
    expect(await countOf('sessions', user.user.id)).toBe(1)
  })

  test('waits for a change of the account, and succeeds when its passkey stays', async () => {
    const user = await passkeyUser(nodes.first)
    await using change = await openTransaction(nodes.first.app.database)
    await change.sql('select 1 from basalt.users where id = $1 for update', [user.user.id])
    const second = passSecondFactor(nodes.second, user.user.email, user.authenticator)
    await change.waitForBlocked()
    await change.sql('update basalt.users set updated_at = now() where id = $1', [user.user.id])
    await change.commit()
    expect((await second).status).toBe(200)
  })
})

test('passkey races › sign-ins, enrolments and a removal of all factors by an administrator do not block each other', async () => {
  const admin = await nodes.first.app.adminToken()
  for (let round = 0; round < 3; round += 1) {
    const user = await passkeyUser(nodes.first)
    const { json: session } = await passSecondFactor(nodes.first, user.user.email, user.authenticator)
    const options = (await nodes.first.post('mfa/webauthn/enroll', undefined, session.token)).json
    const attestation_response = newAuthenticator().create(options)
    const pending = await pendingToken(nodes.first, user.user.email)
    const challenge = (await nodes.first.post('mfa/webauthn/challenge', undefined, pending)).json
    const second = {
      challenge_id: challenge.challenge_id,
      assertion_response: user.authenticator.get(challenge.options),
    }
    const challenges = await Promise.all(
      Array.from({ length: 4 }, async () => (await nodes.first.post('webauthn/login/discover/begin')).json),
    )
    const responses = await Promise.all([
      ...challenges.map(({ challenge_id, options: request }) =>
        nodes.second.post('webauthn/login/discover/finish', {
          challenge_id,
          assertion_response: user.authenticator.get(request),
        }),
      ),
      nodes.first.post('mfa/webauthn/verify', second, pending),
      nodes.first.post('mfa/webauthn/enroll/confirm', { attestation_response }, session.token),
      nodes.second.app.request('DELETE', `/api/admin/users/${user.user.id}/factors`, { token: admin }),
    ])
    for (const { status } of responses) expect([200, 204, 400, 401, 404]).toContain(status)
    // There is never a factor without a passkey, which would lock the user out, nor a passkey without a factor.
    const [factors, passkeys] = [
      await countOf('mfa_factors', user.user.id),
      await countOf('passkeys', user.user.id),
    ]
    expect(factors > 0).toBe(passkeys > 0)
  }
})
