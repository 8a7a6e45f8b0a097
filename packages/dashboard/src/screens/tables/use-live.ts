import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type RowPage, type RowsRequest, readRows } from './api.ts'
import { idOf } from './names.ts'

/** How often the rows in view are read again while they are followed. */
const followMs = 2500

/**
 * Follows the rows in view, whatever changes them: streams deliver what the API writes, and rows that policies let a user
 * read. Only the page in view is read; rows whose version has moved on are replaced and marked.
 */
export function useLive(
  table: string,
  request: Pick<RowsRequest, 'filter' | 'sort' | 'as'>,
  isLive: boolean,
  firstVisible: () => number,
): ReadonlySet<string> {
  const queries = useQueryClient()
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const shape = JSON.stringify(request)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape stands for the request.
  useEffect(() => {
    setMarked(new Set())
    if (!isLive) return
    const controller = new AbortController()
    const follow = async () => {
      if (document.hidden) return
      const key = ['tables', table, 'rows', request]
      const [entry] = queries.getQueriesData<
        InfiniteData<RowPage, Pick<RowsRequest, 'after' | 'before' | 'from'>>
      >({
        queryKey: key,
        type: 'active',
      })
      const [queryKey, data] = entry ?? []
      if (queryKey === undefined || data === undefined) return
      const place = pageAt(data.pages, firstVisible())
      const parameters = data.pageParams[place]
      const before = data.pages[place]
      if (before === undefined) return
      const now = await readRows(table, { ...request, ...parameters }, controller.signal)
      const changed = changedKeys(before, now)
      const isSameRows = idsOf(before) === idsOf(now)
      if (changed.size === 0 && isSameRows) return
      // Rows that come or go move the pages after them, too.
      if (!isSameRows) await queries.invalidateQueries({ queryKey })
      else {
        queries.setQueryData<typeof data>(queryKey, (current) =>
          current === undefined || current.pages[place] !== before
            ? current
            : { ...current, pages: current.pages.with(place, now) },
        )
      }
      setMarked(changed)
    }
    const timer = setInterval(() => void follow().catch(() => undefined), followMs)
    return () => {
      clearInterval(timer)
      controller.abort()
    }
  }, [queries, table, shape, isLive])
  return marked
}

function pageAt(pages: readonly RowPage[], row: number): number {
  let passed = 0
  for (const [index, page] of pages.entries()) {
    passed += page.rows.length
    if (row < passed) return index
  }
  return Math.max(0, pages.length - 1)
}

const idsOf = ({ rows }: RowPage) => JSON.stringify(rows.map(({ key }) => key))

/** Keys of rows that are new or in another version. */
function changedKeys(before: RowPage, now: RowPage): Set<string> {
  const versions = new Map(before.rows.map(({ key, version }) => [key === null ? '' : idOf(key), version]))
  return new Set(
    now.rows.flatMap(({ key, version }) =>
      key !== null && versions.get(idOf(key)) !== version ? [idOf(key)] : [],
    ),
  )
}
