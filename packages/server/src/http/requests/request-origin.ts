import type { FastifyRequest } from 'fastify'
import { addressKey } from './client-address.ts'

/** Origin of an audited action: the client and the request. */
export interface RequestOrigin {
  /** Client address, as attempts are counted by it. */
  readonly address: string
  /** Request id, as in `X-Request-Id`. */
  readonly requestId: string
}

export function originOf(request: FastifyRequest): RequestOrigin {
  return { address: addressKey(request), requestId: request.id }
}
