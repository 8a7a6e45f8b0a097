import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  createAccountNodes,
  mailedToken,
  openTransaction,
} from '../../../../../test/account-nodes.ts'
import { goodPassword } from '../../../../../test/accounts.ts'
import {
  approveClient,
  createClient,
  createProof,
  obtainTokens,
  redeem,
  refresh,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let nodes: AccountNodes
let client: TestClient
beforeAll(async () => {
  nodes = await createAccountNodes({ config: { 'auth.oauth_provider.enabled': 'true' } })
  const { user } = await nodes.first.register()
  const appId = (
    await nodes.first.app.request('POST', '/api/admin/apps', {
      token: await nodes.first.app.adminToken(),
      body: { name: 'App', ownerUserId: user.id },
    })
  ).json.id
  client = await createClient(nodes.first.app, { appId })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const statusOf = async (node: AccountNodes['first'], token: string) =>
  (await node.app.request('GET', '/api/schema', { token })).status

describe('oauth server › an account that the owner of its address takes over', () => {
  test.each([
    [
      'signs in by link',
      async (email: string) => {
        const token = await mailedToken(nodes.second, 'magic-link', email)
        return await nodes.second.post('magic-link/confirm', { token })
      },
    ],
    [
      'resets the password',
      async (email: string) => {
        const token = await mailedToken(nodes.second, 'password-reset', email)
        return await nodes.second.post('password-reset/confirm', { token, password: 'juniper-lantern-77' })
      },
    ],
  ])('loses the consents from before the owner %s', async (_name, takeOver) => {
    const { user, token } = await nodes.first.register()
    const tokens = await obtainTokens(nodes.first.app, token, client)
    const proof = createProof()
    const code = await approveClient(nodes.first.app, token, client, proof)
    for (const node of nodes.both) expect(await statusOf(node, tokens.access_token)).toBe(200)
    expect((await takeOver(user.email)).status).toBe(200)
    for (const node of nodes.both) {
      await waitFor('the token to end', async () => (await statusOf(node, tokens.access_token)) === 401)
      expect((await refresh(node.app, client, tokens.refresh_token)).json).toEqual({
        error: 'invalid_grant',
        error_description: 'invalid refresh token',
      })
      expect((await redeem(node.app, client, proof, code)).json).toEqual({
        error: 'invalid_grant',
        error_description: 'invalid authorization code',
      })
    }
    expect(await nodes.sql('select from basalt.oauth_consents where user_id = $1', [user.id])).toEqual([])
  })

  test('keeps them when the address was verified before', async () => {
    const { user } = await nodes.first.register()
    await nodes.sql('update basalt.users set email_verified_at = now() where id = $1', [user.id])
    const { json } = await nodes.first.post('login', { email: user.email, password: goodPassword })
    const tokens = await obtainTokens(nodes.first.app, json.token, client)
    const token = await mailedToken(nodes.second, 'magic-link', user.email)
    expect((await nodes.second.post('magic-link/confirm', { token })).status).toBe(200)
    expect((await refresh(nodes.second.app, client, tokens.refresh_token)).status).toBe(200)
  })

  test('belongs to its owner even when a code is redeemed at the same time', async () => {
    const { user, token } = await nodes.first.register()
    const proof = createProof()
    const code = await approveClient(nodes.first.app, token, client, proof)
    await using takeover = await openTransaction(nodes.database)
    await takeover.sql('select from basalt.users where id = $1 for update', [user.id])
    const redemption = redeem(nodes.first.app, client, proof, code)
    await takeover.waitForBlocked()
    await takeover.sql('delete from basalt.oauth_consents where user_id = $1', [user.id])
    await takeover.commit()
    expect((await redemption).json).toEqual({
      error: 'invalid_grant',
      error_description: 'invalid authorization code',
    })
    expect(await nodes.sql('select from basalt.oauth_grants where user_id = $1', [user.id])).toEqual([])
  })
})
