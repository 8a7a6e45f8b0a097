import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { httpOrigin, isLoopback } from '../../../../lib/addresses.ts'
import { Lru } from '../../../../lib/lru.ts'
import type { Page } from '../../../../lib/page.ts'
import { type BuiltInProvider, builtInProviders } from '../providers/index.ts'
import { createPeoplePage, createRefusalPage } from './page.ts'
import { claimsOf, firstPeople, type Person, readPerson } from './people.ts'

/** Server that replaces sign-in providers on a developer's machine. */
export interface ProviderStandIn {
  readonly url: string
  /** Sets the server whose callbacks receive codes. Before that, no request is accepted. */
  setServer(publicBaseUrl: () => string): void
  close(): Promise<void>
}

/** Authorization request, with the code challenge that its code requires (RFC 7636). */
interface Authorization {
  readonly provider: BuiltInProvider
  readonly redirectUri: string
  readonly state: string
  readonly challenge: string
}

interface Grant {
  readonly authorization: Authorization
  readonly person: Person
}

/** Maximum numbers of codes, tokens and persons in memory. */
const rememberedGrants = 1000
const rememberedPeople = 12

const bodyLimit = 16_384

/** Error that the stand-in explains on a page, or as JSON at its token endpoint. */
class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * Starts the stand-in on a free port of this machine. It accepts connections, names and callbacks of this machine
 * only, and keeps everything in memory.
 */
export async function startProviderStandIn(): Promise<ProviderStandIn> {
  const codes = new Lru<string, Grant>(rememberedGrants)
  const tokens = new Lru<string, Grant>(rememberedGrants)
  let people: readonly Person[] = firstPeople
  let publicBaseUrl: (() => string) | undefined

  const server = createServer((request, response) => {
    handle(request).then(
      (reply) => send(response, reply),
      (error) => send(response, explain(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a server that listens on a port has this form.
  const { port } = server.address() as AddressInfo

  async function handle(request: IncomingMessage): Promise<Reply> {
    const host = URL.parse(`http://${request.headers.host}`)?.hostname ?? ''
    // A name of another site that resolves to this machine.
    if (!isLoopback(host)) throw new Refusal(403, 'The stand-in serves this machine only.')
    const { pathname, searchParams } = new URL(request.url ?? '/', `http://${host}`)
    const [, name = '', endpoint] = pathname.split('/')
    if (!isBuiltIn(name)) throw new Refusal(404, 'There is no such provider.')
    switch (`${request.method} ${endpoint}`) {
      case 'GET authorize':
        return showPeople(readAuthorization(name, searchParams), undefined)
      case 'POST authorize':
        return choose(name, await readForm(request, 'same-origin'))
      case 'POST token':
        return redeem(name, await readForm(request, undefined))
      case 'GET userinfo':
        return describePerson(name, request.headers.authorization)
      default:
        throw new Refusal(404, 'There is no such endpoint.')
    }
  }

  function readAuthorization(provider: BuiltInProvider, parameters: URLSearchParams): Authorization {
    const of = (name: string) => parameters.get(name) ?? ''
    const callback = publicBaseUrl && `${publicBaseUrl()}/api/auth/oauth/${provider}/callback`
    if (callback === undefined || of('redirect_uri') !== callback)
      throw new Refusal(400, 'redirect_uri: expected the callback of the server that basalt dev runs.')
    if (of('code_challenge_method') !== 'S256' || of('code_challenge') === '')
      throw new Refusal(400, 'code_challenge: expected a challenge of the method S256.')
    return { provider, redirectUri: callback, state: of('state'), challenge: of('code_challenge') }
  }

  function showPeople({ provider, redirectUri, state, challenge }: Authorization, problem?: string): Reply {
    const request = {
      redirect_uri: redirectUri,
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }
    const { title } = builtInProviders[provider]
    return pageReply(problem === undefined ? 200 : 400, createPeoplePage({ title, request, people, problem }))
  }

  function choose(provider: BuiltInProvider, form: URLSearchParams): Reply {
    const authorization = readAuthorization(provider, form)
    const choice = form.get('choice') ?? ''
    const target = new URL(authorization.redirectUri)
    target.searchParams.set('state', authorization.state)
    if (choice === 'cancel') {
      target.searchParams.set('error', 'access_denied')
      return { status: 303, headers: { location: target.href }, body: '' }
    }
    const person = /^\d+$/.test(choice) ? people[Number(choice)] : readPerson(form)
    if (person === undefined) return showPeople(authorization, 'This person is no longer listed.')
    if (typeof person === 'string') return showPeople(authorization, person)
    const others = people.filter(({ name, email }) => name !== person.name || email !== person.email)
    people = people.includes(person) ? people : [person, ...others].slice(0, rememberedPeople)
    const code = randomBytes(24).toString('base64url')
    codes.set(code, { authorization, person })
    target.searchParams.set('code', code)
    return { status: 303, headers: { location: target.href }, body: '' }
  }

  function redeem(provider: BuiltInProvider, form: URLSearchParams): Reply {
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    // A code works once.
    codes.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isValid =
      grant?.authorization.provider === provider &&
      grant.authorization.redirectUri === form.get('redirect_uri') &&
      grant.authorization.challenge === challenge
    if (!isValid) return jsonReply(400, { error: 'invalid_grant' })
    const token = randomBytes(24).toString('base64url')
    tokens.set(token, grant)
    return jsonReply(200, { access_token: token, token_type: 'Bearer', expires_in: 3600 })
  }

  function describePerson(provider: BuiltInProvider, authorization = ''): Reply {
    const grant = tokens.get(authorization.replace(/^Bearer /i, ''))
    return grant?.authorization.provider === provider
      ? jsonReply(200, claimsOf(provider, grant.person))
      : jsonReply(401, { error: 'invalid_token' })
  }

  return {
    url: httpOrigin('127.0.0.1', port),
    setServer(url) {
      publicBaseUrl = url
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function isBuiltIn(name: string): name is BuiltInProvider {
  return Object.hasOwn(builtInProviders, name)
}

/**
 * Reads a form.
 *
 * @param site required relation of the page that sends it; any if undefined
 * @throws Refusal
 */
async function readForm(request: IncomingMessage, site: 'same-origin' | undefined): Promise<URLSearchParams> {
  const from = request.headers['sec-fetch-site'] ?? site
  // A page of another site could choose a person otherwise.
  if (site !== undefined && from !== site)
    throw new Refusal(403, 'Only the page of the stand-in may send its form.')
  let body = ''
  for await (const part of request.setEncoding('utf8')) {
    body += part
    if (body.length > bodyLimit) throw new Refusal(413, 'The form is too large.')
  }
  return new URLSearchParams(body)
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function pageReply(status: number, { html, contentSecurityPolicy }: Page): Reply {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy,
    'x-frame-options': 'DENY',
  }
  return { status, headers, body: html }
}

function jsonReply(status: number, value: object): Reply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

function explain(error: unknown): Reply {
  const [status, problem] =
    error instanceof Refusal ? [error.status, error.message] : [500, 'The stand-in has failed.']
  return pageReply(status, createRefusalPage(problem))
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response
    .writeHead(status, {
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      ...headers,
    })
    .end(body)
}
