import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../lib/errors.ts'
import { addressKey } from '../requests/client-address.ts'
import type { Identity } from './identity.ts'

/** Caller whose requests are counted. Members that are undefined are not counted. */
export interface LimitedCaller {
  readonly userId?: string | undefined
  readonly address?: string | undefined
}

/** Result of counting requests. */
export interface Admission {
  /** Headers of the response, where the caller is limited. */
  readonly headers?: Readonly<Record<string, string>>
  /** Error with which the request is rejected. */
  readonly refusal?: AppError
}

/** Limiter of data API requests per user and per address. */
export interface CallerLimiter {
  /** Counts requests, or operations of a batch. Either all of them count for a limit or none. */
  admit(caller: LimitedCaller, count?: number): Promise<Admission>
}

/**
 * Returns the caller whose requests count. Administrators are not limited, so that they can use the dashboard
 * whatever others at their address do. This includes administrators acting as a user.
 */
export function limitedCaller(identity: Identity | undefined, address: string): LimitedCaller {
  if (identity?.kind === 'admin') return {}
  if (identity?.kind !== 'user') return { address }
  return identity.impersonator === undefined ? { userId: identity.userId, address } : {}
}

/**
 * Counts operations of the request.
 *
 * @returns the error with which it is rejected
 */
export async function countOperations(
  limiter: CallerLimiter,
  request: FastifyRequest,
  reply: FastifyReply,
  count = 1,
): Promise<AppError | undefined> {
  const caller = limitedCaller(request.identity, addressKey(request))
  const { headers, refusal } = await limiter.admit(caller, count)
  if (headers !== undefined) reply.headers(headers)
  return refusal
}
