import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../http/access/authentication.ts'
import type { Identity } from '../../../http/access/identity.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { hasDisconnected, untilDisconnected } from '../../../http/responses/disconnection.ts'
import { idempotencyKeyOf } from '../idempotency/index.ts'
import type { Caller } from './access/caller.ts'

/** What the routes of the collections read from a request. */

export interface CollectionRoute {
  Params: { table: string }
}

export interface FacetRoute {
  Params: { table: string; column: string }
}

export interface RecordRoute {
  Params: { table: string; id: string }
}

/** @throws AppError invalid_idempotency_key */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  const identity = identityOf(request)
  const { kind, scope, appId, keyId = '' } = identity
  const actor = actorOf(identity)
  return {
    scope,
    isAdministrator: kind === 'admin',
    key: idempotencyKeyOf(request, reply, identity),
    origin: () => ({ actor, requestId: request.id, appId, keyId, address: addressKey(request) }),
    isAbandoned: () => hasDisconnected(reply),
    signal: () => untilDisconnected(reply),
  }
}

/** Who acts, for the audit: `user`, `admin`, `anonymous`, `open`, or `admin as user`. */
function actorOf(identity: Identity): string {
  const impersonator = identity.kind === 'user' ? identity.impersonator : undefined
  return impersonator === undefined ? identity.kind : `${impersonator} as ${identity.kind}`
}

/** The query string as sent: the collections read it themselves, and remember what it meant. */
export function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?')
  return start === -1 ? '' : request.url.slice(start + 1)
}

/** The id as sent, percent-encoded: only so can a comma between values be distinguished from one inside a value. */
export function idOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1)
  return path.split('/')[4] ?? ''
}

/** The body as sent. */
export function bodyOf(request: FastifyRequest): string {
  return typeof request.body === 'string' ? request.body : ''
}
