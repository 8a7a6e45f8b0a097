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

/** Options of TanStack Query: `enabled`, `staleTime`, `placeholderData` and the like. */
export type ReadOptions<Data> = Omit<UseQueryOptions<Data>, 'queryKey' | 'queryFn' | 'select'>

/** A page of a list. */
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

/** A page of a list; suspends until it is loaded, and throws what it fails with. */
export function useSuspenseList<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(table: T, query?: ListInput<T, F, E>): UseSuspenseQueryResult<Page<RecordResult<T, F, E>>> {
  return useSuspenseQuery(listOptions(useClient(), table, query))
}
