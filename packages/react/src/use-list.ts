'use client'
import type { ExpandOf, NoExpand, Page } from '@basaltdb/client'
import {
  type UseQueryOptions,
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useQuery,
  useSuspenseQuery,
} from '@tanstack/react-query'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import { type ListInput, listOptions, type RecordResult } from './options.ts'
import { useClient } from './use-client.ts'

/** Options of TanStack Query, such as `enabled`, `staleTime` and `placeholderData`. */
export type ReadOptions<Data> = Omit<UseQueryOptions<Data>, 'queryKey' | 'queryFn' | 'select'>

/** Reads one page of a list. */
export function useList<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(
  table: T,
  query?: ListInput<T, F, E>,
  options?: ReadOptions<Page<RecordResult<T, F, E>>>,
): UseQueryResult<Page<RecordResult<T, F, E>>> {
  return useQuery({ ...listOptions(useClient(), table, query), ...options })
}

/** Reads one page of a list. Suspends until the page is loaded, and throws the error of a failed request. */
export function useSuspenseList<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(table: T, query?: ListInput<T, F, E>): UseSuspenseQueryResult<Page<RecordResult<T, F, E>>> {
  return useSuspenseQuery(listOptions(useClient(), table, query))
}
