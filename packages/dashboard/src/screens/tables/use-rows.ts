import { isBasaltError } from '@basaltdb/client'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { type RowPage, type RowsRequest, readRows, type TableRow } from './api.ts'
import type { PageRequest } from './live-rows.ts'

/** Planner cost up to which a statement runs without confirmation: reading some million rows, about a second. */
const costLimit = 100_000

/** Returns the key prefix of row counts. */
export const countKey = (table: string) => ['tables', table, 'count'] as const

/** Reads the rows of a table page by page, in both directions. Requests for other views are aborted. */
export function useRows(
  table: string,
  request: Pick<RowsRequest, 'filter' | 'sort' | 'as'>,
  from: string | undefined,
) {
  const shape = JSON.stringify([request, from])
  // The confirmation of an expensive statement applies only to this state of the view.
  const [confirmed, setConfirmed] = useState<string>()
  const maxCost = confirmed === shape ? undefined : costLimit
  const queries = useQueryClient()
  const start: PageRequest = from === undefined ? {} : { from }
  const query = useInfiniteQuery({
    queryKey: ['tables', table, 'rows', request, from, maxCost],
    queryFn: ({ pageParam, signal }) =>
      inSession(() => readRows(table, { ...request, ...pageParam, maxCost }, signal), signal),
    initialPageParam: start,
    getNextPageParam: (page): PageRequest | undefined =>
      page.after === null ? undefined : { after: page.after },
    getPreviousPageParam: (page): PageRequest | undefined =>
      page.before === null ? undefined : { before: page.before },
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const pages: readonly RowPage[] | undefined = query.data?.pages
  const rows = useMemo(() => pages?.flatMap((page): readonly TableRow[] => page.rows), [pages])
  const first = pages?.[0]
  return {
    rows,
    columns: first?.columns,
    width: first?.width ?? 512,
    paging: first?.paging,
    error: query.error,
    /** Planner cost of a statement that waits for confirmation. */
    cost: costOf(query.error),
    runAnyway: () => setConfirmed(shape),
    isFetching: query.isFetching,
    hasNext: query.hasNextPage,
    hasPrevious: query.hasPreviousPage,
    loadNext: () => {
      if (query.hasNextPage && !query.isFetching) void query.fetchNextPage()
    },
    loadPrevious: () => {
      if (query.hasPreviousPage && !query.isFetching) void query.fetchPreviousPage()
    },
    /** Reads and counts the rows again, also after a write. */
    refetch: () => {
      void query.refetch()
      void queries.invalidateQueries({ queryKey: countKey(table) })
    },
  }
}

export type Rows = ReturnType<typeof useRows>

function costOf(error: Error | null): number | undefined {
  if (!isBasaltError(error, 'costly_query')) return undefined
  const { cost } = (error.data ?? {}) as { readonly cost?: number }
  return cost
}
