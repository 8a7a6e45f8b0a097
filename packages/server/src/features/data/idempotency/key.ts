import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../../../http/access/identity.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { idempotencyErrors } from './errors.ts'

/** Key that identifies one write of one caller, so that it can be sent again without being made again. */
export interface IdempotencyKey {
  /** Owner of the key. A response is never replayed to another identity. */
  readonly owner: string
  readonly value: string
  /** SHA-256 of the request, in hexadecimal. */
  readonly fingerprint: string
  /** Function that is called before the first response is replayed. */
  readonly replaying: () => void
}

const validKey = /^[\x20-\x7e]{1,255}$/

/** Returns the key of a write; undefined without one. @throws AppError invalid_idempotency_key */
export function idempotencyKeyOf(
  request: FastifyRequest,
  reply: FastifyReply,
  identity: Identity,
): IdempotencyKey | undefined {
  const value = request.headers['idempotency-key']
  if (value === undefined || request.method === 'GET' || request.method === 'HEAD') return undefined
  if (typeof value !== 'string' || !validKey.test(value)) throw idempotencyErrors.invalidIdempotencyKey()
  const { headers, method, url } = request
  const body = typeof request.body === 'string' ? request.body : ''
  // The response of a level with more access must not be replayed to a level with less.
  const level = identity.kind === 'user' ? identity.aal : ''
  const effects = [headers['x-notify-table'], headers['x-notify-action']].map(String)
  const condition = headers['if-match'] === undefined ? [] : [headers['if-match']]
  return {
    owner: ownerOf(identity, addressKey(request)),
    value,
    fingerprint: hash([method, url, level, ...effects, ...condition, body]),
    replaying: () => void reply.header('idempotency-replayed', 'true'),
  }
}

/** Returns the key of a request whose body was read by its handler. @param digest of the body */
export function withBody(key: IdempotencyKey, digest: string): IdempotencyKey {
  return { ...key, fingerprint: hash([key.fingerprint, digest]) }
}

function hash(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/**
 * Returns the owner. Requests without a token share a role, not an identity, so they are distinguished by their
 * address.
 */
function ownerOf(identity: Identity, address: string): string {
  if (identity.kind === 'anonymous') return `anonymous ${address}`
  if (identity.kind !== 'user') return identity.kind
  const { userId, appId, keyId, clientId } = identity
  if (keyId !== undefined) return `key ${keyId}`
  return clientId === undefined ? `user ${userId}` : `client ${clientId} ${appId} ${userId}`
}
