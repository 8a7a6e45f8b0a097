import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OAuth2Server } from 'oauth2-mock-server'
import type { TestApp } from './test-app.ts'

/** OpenID provider on a free port. */
export interface OpenIdPeer extends AsyncDisposable {
  readonly server: OAuth2Server
  readonly issuer: string
  /** Claims about the person in further tokens. */
  person: Record<string, unknown>
}

export async function startOpenIdPeer(): Promise<OpenIdPeer> {
  const server = new OAuth2Server()
  await server.issuer.keys.generate('RS256')
  await server.start(0, 'localhost')
  const issuer = server.issuer.url ?? ''
  const peer: OpenIdPeer = {
    server,
    issuer,
    person: { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    [Symbol.asyncDispose]: () => server.stop(),
  }
  server.service.on('beforeTokenSigning', (token) => Object.assign(token.payload, peer.person))
  server.service.on('beforeUserinfo', (response) => {
    response.body = peer.person
  })
  return peer
}

export function oidcConfig(issuer: string, more: object = {}): Record<string, string> {
  const peer = { issuer_url: issuer, client_id: 'basalt', client_secret: 'a secret of the client', ...more }
  return { 'auth.oidc': JSON.stringify({ peer }) }
}

/** Parses the body as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
export async function jsonOf(response: Response | Promise<Response>): Promise<any> {
  return await (await response).json()
}

/** Returns the link of a page that announces a sign-in. */
export function continueLink(page: string): string {
  const [, href] = /id="continue" href="([^"]+)"/.exec(page) ?? []
  if (href === undefined) throw new Error(`no link in ${page}`)
  return href.replaceAll('&#38;', '&')
}

/** Browser that keeps cookies and follows no redirect by itself. */
export class Browser {
  readonly cookies = new Map<string, string>()

  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie === '' ? {} : { cookie }), ...(init.headers as Record<string, string>) },
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      this.cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    return response
  }

  /** Begins a sign-in. @returns the authorization request */
  async start(app: TestApp, provider: string, query = ''): Promise<URL> {
    const response = await this.open(`${app.url}/api/auth/oauth/${provider}${query}`)
    const location = response.headers.get('location')
    if (response.status !== 307 || location === null) throw new Error(await response.text())
    return new URL(location)
  }

  /** Signs in at an OpenID provider that needs no consent. @returns the address of the callback */
  async consent(authorization: URL): Promise<URL> {
    const response = await fetch(authorization, { redirect: 'manual' })
    return new URL(response.headers.get('location') ?? '')
  }

  async signIn(app: TestApp, provider: string, query = ''): Promise<Response> {
    const callback = await this.consent(await this.start(app, provider, query))
    return await this.open(callback.href)
  }
}

export interface ProviderRequest {
  readonly method: string
  /** Host and path in the provider's documentation. */
  readonly address: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answer =
  | object
  | { status: number; text: string; headers?: Record<string, string> }
  | ((request: ProviderRequest) => unknown)

/** Stand-in for providers with documented responses by method, host and path. */
export interface ProviderStandIn extends AsyncDisposable {
  readonly requests: ProviderRequest[]
  readonly answers: Record<string, Answer>
  readonly reachProvider: (url: string) => string
  /** Signs claims as the provider does, with RS256. */
  signIdToken(claims: Record<string, unknown>): string
  readonly keys: { keys: object[] }
}

export async function startProviderStandIn(): Promise<ProviderStandIn> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kid = randomUUID()
  const requests: ProviderRequest[] = []
  const answers: Record<string, Answer> = {}
  const server = createServer((message: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', async () => {
      const url = new URL(message.url ?? '', 'http://localhost')
      const request: ProviderRequest = {
        method: message.method ?? '',
        address: url.pathname.slice(1),
        query: url.searchParams,
        headers: message.headers,
        body: Buffer.concat(chunks).toString(),
      }
      requests.push(request)
      const found = answers[`${request.method} ${request.address}`]
      const given = typeof found === 'function' ? await found(request) : found
      if (given === undefined) response.writeHead(404).end()
      else if (typeof given === 'object' && given !== null && 'text' in given && 'status' in given) {
        const headers = { 'content-type': 'text/html', ...('headers' in given ? Object(given.headers) : {}) }
        response.writeHead(Number(given.status), headers).end(String(given.text))
      } else {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  return {
    requests,
    answers,
    reachProvider: (url) => `http://127.0.0.1:${port}/${url.replace(/^https?:\/\//, '')}`,
    signIdToken: (claims) => signJwt(claims, privateKey, kid),
    keys: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }] },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function signJwt(claims: Record<string, unknown>, key: KeyObject, kid: string): string {
  const now = Math.floor(Date.now() / 1000)
  const content = [
    { alg: 'RS256', kid },
    { iat: now, exp: now + 300, ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
}
