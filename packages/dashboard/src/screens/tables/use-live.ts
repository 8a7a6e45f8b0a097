import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { type RowPage, type RowsRequest, readRows, type TableInfo } from './api.ts'
import { followChanges } from './follow-changes.ts'
import { LiveReader } from './live-reader.ts'
import type { PageRequest } from './live-rows.ts'

/**
 * State of following changes. `polling` is used for views, which no stream delivers. `stopped` means that an administrator
 * ended the stream.
 */
export type LiveState = 'off' | 'connecting' | 'following' | 'reconnecting' | 'polling' | 'stopped'

/** Interval of reads without stream events, for views and for changes of plain SQL, in milliseconds. */
export const viewMs = 3000
export const plainSqlMs = 10_000
/** Time for which a changed row is marked, in milliseconds. */
const markMs = 8000

interface LiveOptions {
  readonly info: TableInfo
  readonly request: Pick<RowsRequest, 'filter' | 'sort' | 'as'>
  readonly isOn: boolean
  /** True if the rows must not change. */
  readonly isHeld: boolean
  /** Number of new rows above the rows that were read. */
  readonly created: number
}

/** Follows the rows in view. Changed rows are read again and marked, and the rows in view keep their positions. */
export function useLive({ info, request, isOn, isHeld, created }: LiveOptions) {
  const { table, isWritable, isCaptured } = info
  const queries = useQueryClient()
  const [state, setState] = useState<LiveState>('off')
  const { marked, mark, clear } = useMarks()
  const isVisible = useSyncExternalStore(subscribeToVisibility, () => !document.hidden)
  const reader = useRef<LiveReader>(undefined)
  const view = useRef({ first: 0, last: 0 })
  const latest = useRef({ isHeld, created })
  latest.current = { isHeld, created }
  const isActive = isOn && isVisible
  const shape = JSON.stringify(request)
  /** View that is followed. */
  const known = useRef<string>(undefined)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape stands for the request.
  useEffect(() => {
    clear()
    if (!isActive) {
      known.current = undefined
      return
    }
    const controller = new AbortController()
    const entry = () => {
      const filters = { queryKey: ['tables', table, 'rows', request], type: 'active' as const }
      return queries.getQueriesData<InfiniteData<RowPage, PageRequest>>(filters)[0]
    }
    const current = new LiveReader({
      read: (pageRequest) => readRows(table, { ...request, ...pageRequest }, controller.signal),
      loaded: () => entry()?.[1],
      view: () => ({
        first: view.current.first - latest.current.created,
        last: view.current.last - latest.current.created,
      }),
      isHeld: () => latest.current.isHeld,
      replace(index, before, now) {
        const [key, data] = entry() ?? []
        if (key === undefined || data?.pages[index] !== before) return undefined
        const pages = data.pages.with(index, now)
        return queries.setQueryData<InfiniteData<RowPage, PageRequest>>(key, { ...data, pages })?.pages[index]
      },
      reload: () => queries.invalidateQueries({ queryKey: ['tables', table, 'rows', request] }),
      onChanged(keys, isSameRows) {
        mark(keys)
        void queries.invalidateQueries({ queryKey: ['tables', table, 'row'] })
        // An unbounded count may be slow, so it is kept until the user requests another one.
        if (!isSameRows)
          void queries.invalidateQueries(
            {
              queryKey: ['tables', table, 'count'],
              predicate: ({ queryKey }) => queryKey.at(-1) !== undefined,
            },
            { cancelRefetch: false },
          )
      },
    })
    reader.current = current
    // The rows of a previous view are shown. Changes since then were noticed for another view.
    if (known.current !== undefined && known.current !== shape && entry()?.[1] !== undefined)
      current.invalidate()
    known.current = shape
    return () => {
      reader.current = undefined
      current.close()
      controller.abort()
    }
  }, [queries, table, shape, isActive, mark, clear])

  useEffect(() => {
    if (!isActive) {
      setState('off')
      return
    }
    const controller = new AbortController()
    const invalidate = () => reader.current?.invalidate()
    setState(isWritable ? 'connecting' : 'polling')
    const timer = isCaptured ? undefined : setInterval(invalidate, isWritable ? plainSqlMs : viewMs)
    if (isWritable)
      void followChanges(table, controller.signal, {
        onFollowing: () => setState('following'),
        onLost: () => setState('reconnecting'),
        onChange: invalidate,
        onDisconnected() {
          setState('stopped')
          clearInterval(timer)
        },
      })
    else invalidate()
    return () => {
      clearInterval(timer)
      controller.abort()
    }
  }, [table, isWritable, isCaptured, isActive])

  useEffect(() => {
    if (!isHeld) reader.current?.readChanged()
  }, [isHeld])

  return {
    state,
    marked,
    /** Called when other rows of the grid come into view. */
    onView: useCallback((first: number, last: number) => {
      view.current = { first, last }
      reader.current?.readChanged()
    }, []),
  }
}

function subscribeToVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Returns the rows that have just changed. */
function useMarks() {
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const endings = useRef(new Map<string, number>())
  const mark = useCallback((keys: readonly string[]) => {
    if (keys.length === 0) return
    const until = Date.now() + markMs
    for (const key of keys) endings.current.set(key, until)
    setMarked(new Set(endings.current.keys()))
    setTimeout(() => {
      const now = Date.now()
      for (const [key, ending] of endings.current) if (ending <= now) endings.current.delete(key)
      setMarked(new Set(endings.current.keys()))
    }, markMs)
  }, [])
  const clear = useCallback(() => {
    endings.current.clear()
    setMarked(new Set())
  }, [])
  return { marked, mark, clear }
}
