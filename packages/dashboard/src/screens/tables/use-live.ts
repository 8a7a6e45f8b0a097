import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { type RowPage, type RowsRequest, readRows, type TableInfo } from './api.ts'
import { followChanges } from './follow-changes.ts'
import { LiveReader } from './live-reader.ts'
import type { PageRequest } from './live-rows.ts'

/** `polling`: of a view, which no stream delivers; `stopped`: an administrator has ended the stream. */
export type LiveState = 'off' | 'connecting' | 'following' | 'reconnecting' | 'polling' | 'stopped'

/** How often rows are read again that no stream says anything about: of a view, and what plain SQL changes. */
export const viewMs = 3000
export const plainSqlMs = 10_000
/** How long a row is marked. */
const markMs = 8000

interface LiveOptions {
  readonly info: TableInfo
  readonly request: Pick<RowsRequest, 'filter' | 'sort' | 'as'>
  readonly isOn: boolean
  /** Whether rows must stay as they are. */
  readonly isHeld: boolean
  /** Rows of the grid that are shown before those that were read. */
  readonly created: number
}

/** Follows the rows in view: what has changed is read again and marked, and what is read by a person stays in place. */
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
  /** The view that is followed. */
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
        // A count without a bound may take long: it stays until a person asks again.
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
    // Rows of a view that was shown before: what has changed since was noticed for another.
    if (known.current !== undefined && known.current !== shape && entry()?.[1] !== undefined) current.note()
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
    const note = () => reader.current?.note()
    setState(isWritable ? 'connecting' : 'polling')
    const timer = isCaptured ? undefined : setInterval(note, isWritable ? plainSqlMs : viewMs)
    if (isWritable)
      void followChanges(table, controller.signal, {
        onFollowing: () => setState('following'),
        onLost: () => setState('reconnecting'),
        onChange: note,
        onDisconnected() {
          setState('stopped')
          clearInterval(timer)
        },
      })
    else note()
    return () => {
      clearInterval(timer)
      controller.abort()
    }
  }, [table, isWritable, isCaptured, isActive])

  useEffect(() => {
    if (!isHeld) reader.current?.look()
  }, [isHeld])

  return {
    state,
    marked,
    /** Other rows of the grid are in view. */
    onView: useCallback((first: number, last: number) => {
      view.current = { first, last }
      reader.current?.look()
    }, []),
  }
}

function subscribeToVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Rows that have changed a moment ago. */
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
