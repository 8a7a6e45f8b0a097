import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../http/access/authentication.ts'
import type { Identity } from '../../../http/access/identity.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { hasDisconnected, untilDisconnected } from '../../../http/responses/disconnection.ts'
import { idempotencyKeyOf } from '../idempotency/index.ts'
import type { Caller } from './access/caller.ts'
import { replicaUseOf } from './access/read-consistency.ts'

/** Request to the data API: texts as sent, which the collections parse by themselves. */
export interface CollectionRequest {
  readonly caller: Caller
  /** Collection name; empty where the path has none. */
  readonly table: string
  /**
   * Record id, percent-encoded. Only in this form can a comma between values be distinguished from one inside a
   * value.
   */
  readonly id?: string
  /** Query string, by which statements are cached. */
  readonly query?: string
  readonly body?: string
  /** Counts operations of a batch for the limits of the caller. @throws AppError too_many_requests */
  readonly countOperations?: ((count: number) => Promise<void>) | undefined
}

/** Returns the request as it was sent. */
export function requestOf(http: FastifyRequest, reply: FastifyReply): SentRequest {
  return new SentRequest(http, reply)
}

/** Request that is parsed only as far as its handler needs. */
class SentRequest implements CollectionRequest {
  readonly #http: FastifyRequest
  readonly #reply: FastifyReply

  constructor(http: FastifyRequest, reply: FastifyReply) {
    this.#http = http
    this.#reply = reply
  }

  /** @throws AppError invalid_idempotency_key */
  get caller(): Caller {
    return callerOf(this.#http, this.#reply)
  }

  get table(): string {
    const { table = '' } = this.#http.params as { readonly table?: string }
    return table
  }

  get id(): string {
    const [path = ''] = this.#http.url.split('?', 1)
    return path.split('/')[4] ?? ''
  }

  get query(): string {
    return queryOf(this.#http)
  }

  get body(): string {
    return bodyOf(this.#http)
  }

  get countOperations(): FastifyRequest['countOperations'] {
    return this.#http.countOperations
  }
}

/** @throws AppError invalid_idempotency_key */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  const identity = identityOf(request)
  return {
    ...callerOfIdentity(identity, {
      requestId: request.id,
      address: () => addressKey(request),
      isAbandoned: () => hasDisconnected(reply),
    }),
    key: idempotencyKeyOf(request, reply, identity),
    ...replicaUseOf(request, reply, identity),
    signal: () => untilDisconnected(reply),
  }
}

/** Connection of a caller, where it is no request of its own. */
export interface CallerConnection extends Pick<Caller, 'isAbandoned'> {
  readonly requestId: string
  readonly address: () => string
}

/** Returns the caller of an operation over a connection. */
export function callerOfIdentity(
  identity: Identity,
  { requestId, address, isAbandoned }: CallerConnection,
): Caller {
  const { kind, scope, appId, keyId = '' } = identity
  const actor = actorOf(identity)
  return {
    scope,
    isAdministrator: kind === 'admin',
    origin: () => ({ actor, requestId, appId, keyId, address: address() }),
    isAbandoned,
  }
}

/** Returns the actor for the audit log: `user`, `admin`, `anonymous`, `open`, or `admin as user`. */
function actorOf(identity: Identity): string {
  const impersonator = identity.kind === 'user' ? identity.impersonator : undefined
  return impersonator === undefined ? identity.kind : `${impersonator} as ${identity.kind}`
}

/** Returns the query string as sent. */
export function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?')
  return start === -1 ? '' : request.url.slice(start + 1)
}

/** Returns the body as sent. */
export function bodyOf(request: FastifyRequest): string {
  return typeof request.body === 'string' ? request.body : ''
}
