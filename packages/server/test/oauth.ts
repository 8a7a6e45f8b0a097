import { createHash, randomBytes } from 'node:crypto'
import { createApplication } from './api-keys.ts'
import { alice } from './fixtures.ts'
import { createTestApp, type TestApp, type TestAppOptions, type TestResponse } from './test-app.ts'

export const callback = 'https://client.example.com/callback'

/** Creates a server in provider mode with an account of alice. */
export async function createOAuthApp(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await createTestApp({
    ...options,
    config: { 'auth.oauth_provider.enabled': 'true', ...options.config },
  })
  if (options.database === undefined) {
    await app.sql(
      `insert into basalt.users (id, email, email_verified_at) values ($1, 'alice@example.com', now())`,
      [alice],
    )
  }
  return app
}

export interface TestClient {
  readonly clientId: string
  /** Secret of the client, absent for public clients. */
  readonly clientSecret: string | undefined
}

/** Registers a client as the administrator, by default in an app of its own. */
export async function createClient(app: TestApp, body: Readonly<Record<string, unknown>> = {}) {
  const appId = body.appId ?? (await createApplication(app, { ownerUserId: alice }))
  const response = await app.request('POST', '/api/admin/oauth/clients', {
    token: await app.adminToken(),
    body: { name: 'Client', redirectUris: [callback], scopes: ['*'], appId, ...body },
  })
  if (response.status !== 201) throw new Error(`clients: ${response.text}`)
  const { clientSecret, client } = response.json
  return { clientId: client.clientId as string, clientSecret: clientSecret as string | undefined, client }
}

export interface Proof {
  readonly verifier: string
  readonly challenge: string
}

export function createProof(): Proof {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Makes the parameters of a client's authorization request. */
export function authorizationRequest({ clientId }: TestClient, { challenge }: Proof, more: object = {}) {
  return {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: callback,
    scope: 'readwrite',
    state: 'state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }
}

export function postForm(
  app: TestApp,
  path: string,
  form: Readonly<Record<string, string | undefined>> | URLSearchParams,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const given = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const body = form instanceof URLSearchParams ? form : new URLSearchParams(given)
  return app.request('POST', path, {
    body: String(body),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
}

export const requestToken = (app: TestApp, form: Readonly<Record<string, string | undefined>>) =>
  postForm(app, '/api/auth/token', form)

/** Approves as the user and returns the code. */
export async function approveClient(
  app: TestApp,
  token: string,
  client: TestClient,
  proof: Proof,
  more: object = {},
): Promise<string> {
  const response = await app.request('POST', '/api/auth/authorize/consent', {
    token,
    body: { decision: 'approve', ...authorizationRequest(client, proof, more) },
    headers: { accept: 'application/json' },
  })
  const code = new URL(response.json.redirect_to).searchParams.get('code')
  if (code === null) throw new Error(`consent: ${response.text}`)
  return code
}

export const redeem = (node: TestApp, client: TestClient, proof: Proof, code: string) =>
  requestToken(node, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: callback,
    code_verifier: proof.verifier,
    client_id: client.clientId,
    client_secret: client.clientSecret,
  })

export const refresh = (node: TestApp, client: TestClient, refreshToken: string) =>
  requestToken(node, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: client.clientId,
    client_secret: client.clientSecret,
  })

/** Obtains tokens of a client for the user. */
export async function obtainTokens(app: TestApp, token: string, client: TestClient, more: object = {}) {
  const proof = createProof()
  const response = await redeem(app, client, proof, await approveClient(app, token, client, proof, more))
  if (response.status !== 200) throw new Error(`token: ${response.text}`)
  return response.json as { access_token: string; refresh_token: string; scope: string; expires_in: number }
}
