'use client'
import {
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useQuery,
  useSuspenseQuery,
} from '@tanstack/react-query'
import type { Columns, Table } from './database.ts'
import { type AggregateInput, type AggregateResult, aggregateOptions, type Terms } from './options.ts'
import { type StreamStatus, useChanges } from './use-changes.ts'
import { useClient } from './use-client.ts'
import type { ReadOptions } from './use-list.ts'

/** Reads figures over the records of a table, and again after changes of it and of the tables in `also` by any user. */
export function useAggregate<
  T extends Table,
  const A extends Terms<T>,
  const G extends Columns<T> = readonly [],
>(
  table: T,
  query: AggregateInput<T, A, G>,
  options: ReadOptions<AggregateResult<T, A, G>> = {},
): UseQueryResult<AggregateResult<T, A, G>> & StreamStatus {
  const read = aggregateOptions(useClient(), table, query)
  const result = useQuery<AggregateResult<T, A, G>>({ ...read, ...options })
  const streamError = useChanges([table, ...(query.also ?? [])], read.queryKey, options.enabled !== false)
  return { ...result, streamError }
}

/**
 * Reads figures as {@link useAggregate} does. Suspends until there is a result, and throws the error of a failed first
 * request.
 */
export function useSuspenseAggregate<
  T extends Table,
  const A extends Terms<T>,
  const G extends Columns<T> = readonly [],
>(table: T, query: AggregateInput<T, A, G>): UseSuspenseQueryResult<AggregateResult<T, A, G>> & StreamStatus {
  const read = aggregateOptions(useClient(), table, query)
  const result = useSuspenseQuery<AggregateResult<T, A, G>>(read)
  return { ...result, streamError: useChanges([table, ...(query.also ?? [])], read.queryKey, true) }
}
