'use client'
import type { ExpandOf, NoExpand } from '@basaltdb/client'
import { type LiveState, live } from '@basaltdb/client/realtime'
import { hashKey, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import { type ListInput, type LiveResult, liveOptions, type RecordResult } from './options.ts'
import { useClient } from './use-client.ts'

/** State of a live list, with a function to refresh it. */
export interface LiveView<Item> extends LiveState<Item> {
  /** Reads the list again. */
  readonly refresh: () => void
}

/**
 * Subscribes to a live list while the component is mounted. Until its stream is open, the list shows prefetched data or the
 * items it showed last.
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
        // The data is cached at once, not in an effect. Otherwise items shown to one user could be cached after the next user
        // has signed in.
        if (status === 'live') queries.setQueryData(queryKey, { items, totalItems })
        changed()
      }),
    [list, queries, hash],
  )
  const read = () => list.state
  const state = useSyncExternalStore(subscribe, read, read)
  const cached = state.status === 'loading' ? queries.getQueryData<LiveResult<Item>>(queryKey) : undefined
  return useMemo(() => ({ ...state, ...cached, refresh: list.refresh }), [state, cached, list])
}

/** Subscribes to a live list. Suspends until the list is loaded, and throws the error of a failed first request. */
export function useSuspenseLive<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(table: T, query?: ListInput<T, F, E>): LiveView<RecordResult<T, F, E>> {
  useSuspenseQuery(liveOptions(useClient(), table, query))
  return useLive(table, query)
}
