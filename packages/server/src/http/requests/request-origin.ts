import type { FastifyRequest } from 'fastify'
import { addressKey } from './client-address.ts'

/** Which request an act came by, for the audit. */
export interface RequestOrigin {
  /** Of the client, as attempts are counted by. */
  readonly address: string
  /** As in `X-Request-Id`. */
  readonly requestId: string
}

export function originOf(request: FastifyRequest): RequestOrigin {
  return { address: addressKey(request), requestId: request.id }
}
