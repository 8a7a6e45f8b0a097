'use client'
import type { ExpandOf, NoExpand } from '@basaltdb/client'
import {
  type UseQueryOptions,
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useQuery,
  useSuspenseQuery,
} from '@tanstack/react-query'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import { type ListInput, type ListResult, listOptions, type Nearest, type Semantic } from './options.ts'
import { useClient } from './use-client.ts'

/** Options of TanStack Query, such as `enabled`, `staleTime` and `placeholderData`. */
export type ReadOptions<Data> = Omit<UseQueryOptions<Data>, 'queryKey' | 'queryFn' | 'select'>

/** Reads one page of a list. */
export function useList<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
  const C extends Columns<T> | undefined = undefined,
  const H extends boolean | undefined = undefined,
  const N extends Nearest<T> = undefined,
  const S extends Semantic<T> = undefined,
>(
  table: T,
  query?: ListInput<T, F, E, C, H, N, S>,
  options?: ReadOptions<ListResult<T, F, E, C, H, N, S>>,
): UseQueryResult<ListResult<T, F, E, C, H, N, S>> {
  return useQuery({ ...listOptions(useClient(), table, query), ...options })
}

/** Reads one page of a list. Suspends until the page is loaded, and throws the error of a failed request. */
export function useSuspenseList<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
  const C extends Columns<T> | undefined = undefined,
  const H extends boolean | undefined = undefined,
  const N extends Nearest<T> = undefined,
  const S extends Semantic<T> = undefined,
>(table: T, query?: ListInput<T, F, E, C, H, N, S>): UseSuspenseQueryResult<ListResult<T, F, E, C, H, N, S>> {
  return useSuspenseQuery(listOptions(useClient(), table, query))
}
