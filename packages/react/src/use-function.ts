'use client'
import {
  type UseMutationOptions,
  type UseMutationResult,
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from '@tanstack/react-query'
import type { Address, CallOf, OutputOf, ReadAddress, Table } from './database.ts'
import { type FunctionQuery, type FunctionResult, functionOptions, type RelatedTables } from './options.ts'
import { affectedBy } from './query-keys.ts'
import { type StreamStatus, useChanges } from './use-changes.ts'
import { useClient } from './use-client.ts'
import type { ReadOptions } from './use-list.ts'

/** Options of {@link useFunction}: the tables that the function reads, and the options of TanStack Query. */
export type FunctionReadOptions<A extends ReadAddress> = RelatedTables & ReadOptions<FunctionResult<A>>

/**
 * Calls a function of the project that reads, such as `useFunction('GET /orders/:id', { params: { id } })`. Calls it again after
 * changes of the tables in `also` by any user.
 */
export function useFunction<A extends ReadAddress>(
  address: A,
  query: FunctionQuery<A>,
  { also, ...options }: FunctionReadOptions<A> = {},
): UseQueryResult<FunctionResult<A>> & StreamStatus {
  const read = functionOptions(useClient(), address, query, { also })
  const result = useQuery<FunctionResult<A>>({ ...read, ...options })
  return { ...result, streamError: useChanges(also, read.queryKey, options.enabled !== false) }
}

/**
 * Calls a function as {@link useFunction} does. Suspends until there is a result, and throws the error of a failed first call.
 */
export function useSuspenseFunction<A extends ReadAddress>(
  address: A,
  query: FunctionQuery<A>,
  { also }: RelatedTables = {},
): UseSuspenseQueryResult<FunctionResult<A>> & StreamStatus {
  const read = functionOptions(useClient(), address, query, { also })
  const result = useSuspenseQuery<FunctionResult<A>>(read)
  return { ...result, streamError: useChanges(also, read.queryKey, true) }
}

// biome-ignore lint/complexity/noBannedTypes: an object without required members
type Variables<A extends Address> = {} extends CallOf<A> ? CallOf<A> | undefined : CallOf<A>

/** Options of {@link useFunctionMutation}: the tables that the function writes, and the options of TanStack Query. */
export interface FunctionWriteOptions<A extends Address, OnMutate>
  extends Omit<UseMutationOptions<OutputOf<A>, Error, Variables<A>, OnMutate>, 'mutationFn'> {
  /** Tables that the function writes. All unless set. */
  readonly also?: readonly Table[] | undefined
}

/**
 * Returns a mutation that calls a function of the project: `mutate({ params: { id }, input: { quantity: 1 } })`. After the call,
 * all results that it may have changed are refetched.
 */
export function useFunctionMutation<A extends Address, OnMutate = unknown>(
  address: A,
  { also = [], ...options }: FunctionWriteOptions<A, OnMutate> = {},
): UseMutationResult<OutputOf<A>, Error, Variables<A>, OnMutate> {
  const client = useClient()
  const queries = useQueryClient()
  return useMutation<OutputOf<A>, Error, Variables<A>, OnMutate>({
    ...options,
    mutationFn: (sent) => {
      // The type of the arguments follows from the address, which the compiler does not know here.
      const call = client.functions.call as (address: A, call?: object) => Promise<OutputOf<A>>
      return call(address, sent)
    },
    async onSettled(...settled) {
      // A failed call is followed by reads, too: the function may have written before its response was lost.
      await queries.invalidateQueries(affectedBy(...also))
      await options.onSettled?.(...settled)
    },
  })
}
