import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallerScope, Origin } from '../../../database/user-database.ts'
import { identityOf } from '../../../http/authentication.ts'
import { addressKey } from '../../../http/client-address.ts'

/** Identity of a request, and whether its client has disconnected. */
export interface Caller {
  readonly scope: CallerScope
  readonly isAbandoned: () => boolean
  readonly isAdministrator: boolean
  /** What is recorded with changes of audited tables. */
  readonly origin?: () => Origin
}

export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  const { kind, scope, appId, keyId = '' } = identityOf(request)
  return {
    scope,
    isAdministrator: kind === 'admin',
    origin: () => ({ actor: kind, requestId: request.id, appId, keyId, address: addressKey(request) }),
    isAbandoned: () => reply.raw.destroyed && !reply.raw.writableFinished,
  }
}

/** The query string as sent: what reads the data reads it itself, and remember what it meant. */
export function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?')
  return start === -1 ? '' : request.url.slice(start + 1)
}

/** The body as sent. */
export function bodyOf(request: FastifyRequest): string {
  return typeof request.body === 'string' ? request.body : ''
}
