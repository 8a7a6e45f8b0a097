import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuseAction, tokenRequired } from '../../../http/access/grants.ts'
import type { Identity } from '../../../http/access/identity.ts'
import { untilRefused, untilSignedOut } from '../../../http/access/until-refused.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { asText, type Content, noContent, type Operation, ok, operation } from '../../../http/operation.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { hasDisconnected, untilDisconnected } from '../../../http/responses/disconnection.ts'
import { bodyOf } from '../../../http/schemas.ts'
import type { AppError } from '../../../lib/errors.ts'
import { type TObject, Type } from '../../../lib/type.ts'
import { callerOfIdentity } from '../../data/collections/index.ts'
import { describeCaller } from './caller-description.ts'
import { runtimeErrors } from './errors.ts'
import type { FunctionHost } from './host.ts'
import type { RouteDescription } from './messages.ts'
import type { RouteMatch, RouteTable } from './route-table.ts'
import { StreamedResponse, sendStreamed } from './streamed-response.ts'

const input = Type.Object({}, { additionalProperties: true, description: 'Input of the function.' })

/** Address of functions, and how a request to it names its function. */
interface Address {
  readonly path: string
  readonly params: TObject
  /** Prefix of the operations. */
  readonly id: string
  /** Words that describe the address. */
  readonly words: string
  find(routes: RouteTable, method: string, http: FastifyRequest): RouteMatch | undefined
}

const byPath: Address = {
  path: '/api/functions/*',
  params: Type.Object({ '*': Type.String({ description: 'Path of a function.' }) }),
  id: 'functions',
  words: '',
  find: (routes, method, { url }) => routes.find(method, pathOf(url).slice('/api/functions'.length)),
}

const byName: Address = {
  path: '/functions/v1/:name',
  params: Type.Object({ name: Type.String({ description: 'Name of a function.' }) }),
  id: 'functionsByName',
  words: ' by its name',
  find: (routes, method, { params }) => routes.findNamed(method, (params as { readonly name: string }).name),
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** Requests of programs whose scope could not be checked, because the functions were unknown. */
const undecided = new WeakSet<FastifyRequest>()

/** Returns the endpoints of an address. Each method has the same path, and a function decides the rest. */
function operationsOf(address: Address): readonly Operation<FunctionHost>[] {
  const { path, params, id, words } = address
  const common = {
    guard: 'data',
    permission: 'rows.write',
    path,
    tag: 'functions',
    params,
    success: asText(ok(Type.Unknown({ description: 'Result of the function.' }))),
    otherResponses: { 204: noContent.body },
    // While the routes are unknown, callers of all kinds get a 503.
    admitsAnonymous: (http: FastifyRequest, host: FunctionHost) =>
      host.isUnknown ||
      (host.knownRoutes !== undefined &&
        findFunction(host.knownRoutes, address, http)?.function.access === 'anonymous'),
    programs: (http: FastifyRequest, host: FunctionHost) => {
      if (host.isUnknown) {
        undecided.add(http)
        return 'read' as const
      }
      const found = host.knownRoutes && findFunction(host.knownRoutes, address, http)
      return found === undefined ? undefined : (`function:${found.function.name}` as const)
    },
  } as const
  return methods.map((method) => {
    const described = {
      ...common,
      id: `${id}.${method}`,
      method: method.toUpperCase() as Uppercase<typeof method>,
      summary: `Call a function${words} by ${method.toUpperCase()}`,
    }
    return method === 'get' || method === 'delete'
      ? operation({
          ...described,
          query: input,
          handle: (host: FunctionHost, { http, identity, query }, reply) =>
            call(host, address, http, reply, identity, query),
        })
      : operation({
          ...described,
          body: Type.Optional(input),
          handle: (host: FunctionHost, { http, identity, body }, reply) =>
            call(host, address, http, reply, identity, body),
        })
  })
}

/** Endpoints of the functions. */
export const functionOperations = [...operationsOf(byPath), ...operationsOf(byName)]

/** Receives messages of other services, in a scope of raw bodies. */
export const receiveOperation = operation({
  id: 'functions.receive',
  method: 'POST',
  path: '/api/functions/inbound/:name',
  guard: 'public',
  tag: 'callbacks',
  summary: 'Send a message to an inbound function',
  description:
    'The function verifies the signature of the sender. A message that was handled before is a 204, and is not handled again. At most 2 MiB.',
  params: Type.Object({ name: Type.String({ description: 'Name of an inbound function.' }) }),
  documentedBody: bodyOf('application/json', Type.Object({}, { additionalProperties: true })),
  bodyLimit: 2 * 1024 * 1024,
  success: asText(ok(Type.Unknown({ description: 'Result of the function.' }))),
  otherResponses: { 204: noContent.body },
  async handle(host: FunctionHost, { http, params }, reply) {
    const headers = Object.entries(http.headers).flatMap(([name, value]) =>
      value === undefined || name === 'cookie' ? [] : [[name, String(value)] as const],
    )
    const body = Buffer.isBuffer(http.body) ? http.body.toString('base64') : ''
    const result = await host.receive(
      params.name,
      { url: http.url, headers: Object.fromEntries(headers), body },
      {
        requestId: http.id,
        signal: untilDisconnected(reply),
        isAbandoned: () => hasDisconnected(reply),
        address: () => addressKey(http),
      },
    )
    if (result === undefined) void reply.code(204)
    return result
  },
})

async function call(
  host: FunctionHost,
  address: Address,
  http: FastifyRequest,
  reply: FastifyReply,
  identity: Identity | undefined,
  given: unknown,
): Promise<Content | undefined> {
  if (identity === undefined) throw new Error('the route has no guard')
  const match = host.routes && findFunction(host.routes, address, http)
  if (match === undefined) throw refuseMethod(host, address, http)
  const { function: found, params: named } = match
  // The functions were loaded after the check of the scope.
  if (undecided.has(http)) throw runtimeErrors.functionsUnavailable().retryAfter(1)
  requireAccess(found, identity)
  const ofCall = withoutGrant(identity)
  const caller = callerOfIdentity(ofCall, {
    requestId: http.id,
    address: () => addressKey(http),
    isAbandoned: () => hasDisconnected(reply),
  })
  const disconnected = untilDisconnected(reply)
  const refused = http.isStillAdmitted === undefined ? undefined : untilRefused(http, reply)
  const result = await host.call(
    found,
    caller,
    {
      ...describeCaller(caller),
      request: { id: http.id, method: http.method, url: http.url, headers: publicHeaders(http) },
      params: named,
      input: given ?? undefined,
    },
    {
      requestId: http.id,
      signal: refused === undefined ? disconnected : AbortSignal.any([disconnected, refused]),
      administrator: identity.kind === 'admin' ? identity.email : undefined,
      identity: ofCall,
    },
  )
  if (result instanceof StreamedResponse) {
    const { body } = result
    // The token of a user may expire within the call, but not within the stream.
    const ended = refused ?? untilSignedOut(http, reply)
    // The signal of the call is aborted after this one (DOM, signal abort), and would end the body without a reason.
    ended.addEventListener('abort', () => body?.cut(ended.reason), { once: true })
    return sendStreamed(result, http, reply)
  }
  if (result === undefined) void reply.code(204)
  return result
}

/** Returns the function of a request. HEAD is served like GET, without the body of the response (RFC 9110 §9.3.2). */
function findFunction(routes: RouteTable, address: Address, http: FastifyRequest): RouteMatch | undefined {
  return address.find(routes, http.method === 'HEAD' ? 'GET' : http.method, http)
}

/** Returns the error for a request without a function: 405 if there is one with another method. */
function refuseMethod({ routes }: FunctionHost, address: Address, http: FastifyRequest): AppError {
  const found = methods
    .map((method) => method.toUpperCase())
    .filter((method) => routes !== undefined && address.find(routes, method, http) !== undefined)
  if (found.length === 0) return runtimeErrors.noSuchFunction(http.method, pathOf(http.url))
  const allow = found.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return httpErrors.methodNotAllowed(http.method, allow).with({ headers: { allow } })
}

/**
 * Returns the caller of a program without the limits of its credential. It was granted the function as a whole, which may do
 * more for the user than the program.
 */
function withoutGrant(identity: Identity): Identity {
  if (identity.kind !== 'user') return identity
  const { grant: _, ...scope } = identity.scope
  return { ...identity, scope }
}

/** Returns the path without the query, still percent-encoded. */
function pathOf(url: string): string {
  const [path = ''] = url.split('?', 1)
  return path
}

/**
 * Checks the access again: a deploy may have changed the function while the body arrived.
 *
 * @throws AppError admin_required, missing_authorization, insufficient_scope
 */
function requireAccess({ access, name }: RouteDescription, identity: Identity): void {
  if (access === 'admin' && identity.kind !== 'admin') throw httpErrors.adminRequired()
  if (access === 'user' && identity.kind === 'anonymous') throw tokenRequired()
  const refusal = identity.kind === 'user' ? refuseAction(identity.scope, `function:${name}`) : undefined
  if (refusal !== undefined) throw refusal
}

const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

function publicHeaders({ headers }: FastifyRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || credentialHeaders.has(name) ? [] : [[name, String(value)]],
    ),
  )
}
