import type { FastifyReply, FastifyRequest } from 'fastify'
import { tokenRequired } from '../../../http/access/grants.ts'
import type { Identity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { asText, noContent, type Operation, ok, operation } from '../../../http/operation.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { hasDisconnected, untilDisconnected } from '../../../http/responses/disconnection.ts'
import { Type } from '../../../lib/type.ts'
import { callerOfIdentity } from '../../data/collections/index.ts'
import type { FunctionHost } from './host.ts'
import type { FunctionDescription } from './messages.ts'

const path = '/api/functions/*'

const params = Type.Object({ '*': Type.String({ description: 'Path of a function.' }) })
const input = Type.Object({}, { additionalProperties: true, description: 'Input of the function.' })

const common = {
  guard: 'data',
  permission: 'rows.write',
  path,
  tag: 'functions',
  params,
  success: asText(ok(Type.Unknown({ description: 'Result of the function.' }))),
  otherResponses: { 204: noContent.body },
  admitsAnonymous: ({ method, url }: FastifyRequest, host: FunctionHost) =>
    host.admitsAnonymous(method, pathOf(url)),
} as const

const read = { ...common, query: input } as const
const write = { ...common, body: Type.Optional(input) } as const

/** Endpoints of the functions. Each method has the same path, and a function decides the rest. */
export const functionOperations: readonly Operation<FunctionHost>[] = [
  operation({
    ...read,
    id: 'functions.get',
    method: 'GET',
    summary: 'Call a function by GET',
    handle: (host: FunctionHost, { http, identity, query }, reply) =>
      call(host, http, reply, identity, query),
  }),
  operation({
    ...write,
    id: 'functions.post',
    method: 'POST',
    summary: 'Call a function by POST',
    handle: (host: FunctionHost, { http, identity, body }, reply) => call(host, http, reply, identity, body),
  }),
  operation({
    ...write,
    id: 'functions.put',
    method: 'PUT',
    summary: 'Call a function by PUT',
    handle: (host: FunctionHost, { http, identity, body }, reply) => call(host, http, reply, identity, body),
  }),
  operation({
    ...write,
    id: 'functions.patch',
    method: 'PATCH',
    summary: 'Call a function by PATCH',
    handle: (host: FunctionHost, { http, identity, body }, reply) => call(host, http, reply, identity, body),
  }),
  operation({
    ...read,
    id: 'functions.delete',
    method: 'DELETE',
    summary: 'Call a function by DELETE',
    handle: (host: FunctionHost, { http, identity, query }, reply) =>
      call(host, http, reply, identity, query),
  }),
]

async function call(
  host: FunctionHost,
  http: FastifyRequest,
  reply: FastifyReply,
  identity: Identity | undefined,
  given: unknown,
): Promise<string | undefined> {
  if (identity === undefined) throw new Error('the route has no guard')
  const { function: found, params: named } = host.find(http.method, pathOf(http.url))
  requireAccess(found, identity)
  const caller = callerOfIdentity(identity, {
    requestId: http.id,
    address: () => addressKey(http),
    isAbandoned: () => hasDisconnected(reply),
  })
  const { scope } = caller
  const result = await host.call(
    found,
    caller,
    {
      user:
        scope.kind === 'caller'
          ? {
              id: scope.userId,
              email: scope.email,
              isEmailVerified: scope.isEmailVerified,
              isAnonymous: scope.isAnonymous,
            }
          : undefined,
      claims: {
        kind: { caller: 'user', anonymous: 'anonymous', unrestricted: 'administrator' }[scope.kind],
        ...(scope.kind === 'caller' ? { aal: scope.aal, sessionId: scope.sessionId } : {}),
      },
      request: { id: http.id, method: http.method, url: http.url, headers: publicHeaders(http) },
      params: named,
      input: given ?? undefined,
    },
    { requestId: http.id, signal: untilDisconnected(reply) },
  )
  if (result === undefined) void reply.code(204)
  return result
}

/** Returns the path below `/api/functions`, still percent-encoded. */
function pathOf(url: string): string {
  const [whole = ''] = url.split('?', 1)
  return whole.slice('/api/functions'.length)
}

/** Checks the access again: a deploy may have changed it while the body arrived. @throws AppError admin_required, missing_authorization */
function requireAccess({ access }: FunctionDescription, identity: Identity): void {
  if (access === 'admin' && identity.kind !== 'admin') throw httpErrors.adminRequired()
  if (access === 'user' && identity.kind === 'anonymous') throw tokenRequired()
}

const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

function publicHeaders({ headers }: FastifyRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || credentialHeaders.has(name) ? [] : [[name, String(value)]],
    ),
  )
}
