'use client'
import type { ExpandOf, NoExpand } from '@basaltdb/client'
import { type LiveState, live } from '@basaltdb/client/realtime'
import { hashKey, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import { type ListInput, type LiveResult, liveOptions, type RecordResult } from './options.ts'
import { useClient } from './use-client.ts'

export interface LiveView<Item> extends LiveState<Item> {
  /** Reads the list again. */
  readonly refresh: () => void
}

/**
 * A list that stays as it is in the database while the component is mounted. Until its stream is in force it shows what
 * was prefetched, or what it has shown last.
 */
export function useLive<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(table: T, query?: ListInput<T, F, E>): LiveView<RecordResult<T, F, E>> {
  type Item = RecordResult<T, F, E>
  const client = useClient()
  const queries = useQueryClient()
  const { queryKey } = liveOptions(client, table, query)
  const hash = hashKey(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the hash stands for table and query, new objects each time
  const list = useMemo(() => live(client, table, query), [client, hash])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the hash stands for the key
  const subscribe = useCallback(
    (changed: () => void) =>
      list.subscribe(({ items, totalItems, status }) => {
        // At once, not in an effect: what is shown to one user must not be kept after the next has signed in.
        if (status === 'live') queries.setQueryData(queryKey, { items, totalItems })
        changed()
      }),
    [list, queries, hash],
  )
  const read = () => list.state
  const state = useSyncExternalStore(subscribe, read, read)
  const kept = state.status === 'loading' ? queries.getQueryData<LiveResult<Item>>(queryKey) : undefined
  return useMemo(() => ({ ...state, ...kept, refresh: list.refresh }), [state, kept, list])
}

/** A live list; suspends until it is loaded, and throws what the first read fails with. */
export function useSuspenseLive<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(table: T, query?: ListInput<T, F, E>): LiveView<RecordResult<T, F, E>> {
  useSuspenseQuery(liveOptions(useClient(), table, query))
  return useLive(table, query)
}
