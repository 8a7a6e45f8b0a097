'use client'
import type { ExpandOf, KeyOf, NoExpand } from '@basaltdb/client'
import {
  type SkipToken,
  skipToken,
  type UseQueryResult,
  type UseSuspenseQueryResult,
  useQuery,
  useSuspenseQuery,
} from '@tanstack/react-query'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import { type RecordInput, type RecordResult, recordOptions } from './options.ts'
import { useClient } from './use-client.ts'
import type { ReadOptions } from './use-list.ts'

/** Reads one record by its primary key. The query stays pending while the key is undefined. */
export function useRecord<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(
  table: T,
  key: KeyOf<RegisteredDatabase, T> | undefined,
  shape?: RecordInput<F, E>,
  options?: ReadOptions<RecordResult<T, F, E>>,
): UseQueryResult<RecordResult<T, F, E>> {
  const client = useClient()
  return useQuery<RecordResult<T, F, E>>({
    ...(key === undefined
      ? {
          queryKey: ['basalt', [table], 'record'], // In a literal the symbol would lose its type.
          queryFn: skipToken as SkipToken,
        }
      : recordOptions(client, table, key, shape)),
    ...options,
  })
}

/** Reads one record by its primary key. Suspends until the record is loaded, and throws the error of a failed request. */
export function useSuspenseRecord<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(
  table: T,
  key: KeyOf<RegisteredDatabase, T>,
  shape?: RecordInput<F, E>,
): UseSuspenseQueryResult<RecordResult<T, F, E>> {
  return useSuspenseQuery(recordOptions(useClient(), table, key, shape))
}
