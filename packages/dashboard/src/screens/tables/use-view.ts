import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { Reader } from './api.ts'

/** View of a table, stored in the URL. A link shows the same view. */
export interface View {
  readonly filter: string
  /** Sort in API syntax. */
  readonly sort: string
  /** Value of the first sort column at which the rows start. */
  readonly from: string | undefined
  readonly hidden: readonly string[]
  /** Columns that come before the others, in this order. */
  readonly order: readonly string[]
  readonly pinned: readonly string[]
  readonly widths: ReadonlyMap<string, number>
  /** Id of the row in the panel. A new row has none. */
  readonly row: string | undefined
  /** User as whom the rows are read. */
  readonly as: Reader | undefined
}

export type ViewChange = Partial<Omit<View, 'widths'>> & { readonly width?: readonly [string, number] }

/** Parses the view. @param names names of all columns */
export function readView(search: URLSearchParams, names: readonly string[]): View {
  const text = (name: string) => search.get(name) ?? undefined
  const shown = new Set(search.getAll('show'))
  return {
    filter: search.get('filter') ?? '',
    sort: search.get('sort') ?? '',
    from: text('from'),
    hidden: shown.size > 0 ? names.filter((name) => !shown.has(name)) : search.getAll('hide'),
    order: search.getAll('order'),
    pinned: search.getAll('pin'),
    widths: new Map(
      search.getAll('width').flatMap((entry) => {
        const split = entry.lastIndexOf(':')
        const width = Number(entry.slice(split + 1))
        return split > 0 && width >= 48 && width <= 2000 ? [[entry.slice(0, split), width] as const] : []
      }),
    ),
    row: text('row'),
    as: readReader(text('as'), text('reason')),
  }
}

function readReader(as: string | undefined, reason: string | undefined): Reader | undefined {
  return as === undefined ? undefined : reason === undefined ? { as } : { as, reason }
}

/** Formats the view. The URL lists the hidden or the visible columns, whichever are fewer. @param names names of all columns */
export function writeView(
  search: URLSearchParams,
  change: ViewChange,
  names: readonly string[],
): URLSearchParams {
  const next = new URLSearchParams(search)
  const put = (name: string, values: readonly string[]) => {
    next.delete(name)
    for (const value of values) next.append(name, value)
  }
  for (const [name, value] of Object.entries(change)) {
    if (name === 'order') put('order', withoutUsual(change.order ?? [], names))
    else if (name === 'pinned') put('pin', change.pinned ?? [])
    else if (name === 'hidden') {
      const hidden = new Set(change.hidden)
      const isMost = hidden.size > names.length / 2
      put('hide', isMost ? [] : [...hidden])
      // An empty list means that no column is visible.
      put('show', isMost ? orEmpty(names.filter((each) => !hidden.has(each))) : [])
    } else if (name === 'width') {
      const [column, width] = change.width ?? ['', 0]
      const widths = new Map(readView(search, names).widths).set(column, Math.round(width))
      put(
        'width',
        Array.from(widths, ([key, pixels]) => `${key}:${pixels}`),
      )
    } else if (name === 'as') {
      put('as', change.as === undefined ? [] : [change.as.as])
      put('reason', change.as?.reason === undefined ? [] : [change.as.reason])
    } else put(name, value === undefined || value === '' ? [] : [String(value)])
  }
  // A position in the rows depends on their order.
  if (('filter' in change || 'sort' in change) && !('from' in change)) next.delete('from')
  return next
}

const orEmpty = (list: readonly string[]) => (list.length === 0 ? [''] : list)

/** Removes the last columns that have their default order. */
function withoutUsual(order: readonly string[], names: readonly string[]): readonly string[] {
  const indexes = new Map(names.map((name, index) => [name, index]))
  const indexAt = (index: number) => indexes.get(order[index] ?? '') ?? -1
  // Columns that the list omits follow it, in their default order.
  let end = order.length
  while (end > 0 && indexAt(end - 1) === end - 1) end -= 1
  return order.length === names.length ? order.slice(0, end) : order
}

const steps = ['filter', 'sort', 'from'] as const

export function useView(names: readonly string[]) {
  const [search, setSearch] = useSearchParams()
  const view = useMemo(() => readView(search, names), [search, names])
  const change = useCallback(
    (next: ViewChange, { replace }: { readonly replace?: boolean } = {}) => {
      // Other rows are another view, to which Back returns. Other columns and widths are not.
      const isStep = steps.some((name) => name in next && next[name] !== view[name])
      setSearch((current) => writeView(current, next, names), { replace: replace ?? !isStep })
    },
    [setSearch, names, view],
  )
  return [view, change] as const
}
