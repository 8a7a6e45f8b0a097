import type { FastifyRequest } from 'fastify'
import { addressKey } from './client-address.ts'

/** Origin of an audited action: the client and the request. */
export interface RequestOrigin {
  /** Client address, as attempts are counted by it. */
  readonly address: string
  /** Request id, as in `X-Request-Id`. */
  readonly requestId: string
  /** Address of the administrator; undefined for other callers, and for administrators without one. */
  readonly administrator?: string | undefined
}

export function originOf(request: FastifyRequest): RequestOrigin {
  const { identity } = request
  const administrator = identity?.kind === 'admin' ? identity.email : undefined
  return { address: addressKey(request), requestId: request.id, administrator }
}
