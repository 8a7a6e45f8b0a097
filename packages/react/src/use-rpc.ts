'use client'
import {
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useQuery,
  useSuspenseQuery,
} from '@tanstack/react-query'
import type { Arguments, Procedure, Returns } from './database.ts'
import { type RelatedTables, rpcOptions } from './options.ts'
import { type StreamStatus, useChanges } from './use-changes.ts'
import { useClient } from './use-client.ts'
import type { ReadOptions } from './use-list.ts'

/** Options of {@link useRpc}: the tables that the function reads, and the options of TanStack Query. */
export type RpcInput<P extends Procedure> = RelatedTables & ReadOptions<Returns<P>>

/**
 * Calls a database function that reads, and calls it again after changes of the tables in `also` by any user. The
 * function must not write, because it is called any number of times.
 */
export function useRpc<P extends Procedure>(
  procedure: P,
  args: Arguments<P>,
  { also, ...options }: RpcInput<P> = {},
): UseQueryResult<Returns<P>> & StreamStatus {
  const query = rpcOptions(useClient(), procedure, args, { also })
  const result = useQuery<Returns<P>>({ ...query, ...options })
  return { ...result, streamError: useChanges(also, query.queryKey, options.enabled !== false) }
}

/**
 * Calls a database function as {@link useRpc} does. Suspends until there is a result, and throws the error of a failed first
 * call.
 */
export function useSuspenseRpc<P extends Procedure>(
  procedure: P,
  args: Arguments<P>,
  { also }: RelatedTables = {},
): UseSuspenseQueryResult<Returns<P>> & StreamStatus {
  const query = rpcOptions(useClient(), procedure, args, { also })
  const result = useSuspenseQuery<Returns<P>>(query)
  return { ...result, streamError: useChanges(also, query.queryKey, true) }
}
