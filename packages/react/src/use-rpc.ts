'use client'
import { subscribe } from '@basaltdb/client/realtime'
import {
  hashKey,
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Arguments, Procedure, Returns, Table } from './database.ts'
import { type RelatedTables, rpcOptions } from './options.ts'
import { useClient } from './use-client.ts'
import type { ReadOptions } from './use-list.ts'

/** Options of {@link useRpc}: the tables that the function reads, and the options of TanStack Query. */
export type RpcInput<P extends Procedure> = RelatedTables & ReadOptions<Returns<P>>

/** Status of the stream, in the result of {@link useRpc}. */
export interface StreamStatus {
  /** Error because of which changes of the tables in `also` are not followed. */
  readonly streamError: Error | undefined
}

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

/** Delay before a call, so that changes that arrive together cause one call. */
const callDelayMs = 20

/** Invalidates the query after changes of the tables. @returns the error because of which they are not followed */
function useChanges(
  tables: readonly Table[] = [],
  queryKey: readonly unknown[],
  isEnabled: boolean,
): Error | undefined {
  const client = useClient()
  const queries = useQueryClient()
  const [failure, setFailure] = useState<Error>()
  const hash = hashKey(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the hash stands for the key, which contains the tables
  useEffect(() => {
    setFailure(undefined)
    if (tables.length === 0 || !isEnabled) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const invalidate = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        void queries.invalidateQueries({ queryKey, exact: true })
      }, callDelayMs)
    }
    const unsubscribe = subscribe(client, tables, {
      onChange: invalidate,
      // The result may be from before the stream was open.
      onConnected: invalidate,
      onFailed: setFailure,
    })
    return () => {
      clearTimeout(timer)
      unsubscribe()
    }
  }, [client, queries, hash, isEnabled])
  return failure
}
