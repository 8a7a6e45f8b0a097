import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'

/** What of a table is shown, all of it in the address: a link shows the same view. */
export interface View {
  readonly filter: string
  /** As the API has it. */
  readonly sort: string
  /** Value of the first sort column at which the rows begin. */
  readonly from: string | undefined
  readonly hidden: readonly string[]
  /** Columns in front of the others, in this order. */
  readonly order: readonly string[]
  readonly pinned: readonly string[]
  readonly widths: ReadonlyMap<string, number>
  /** Id of the row in the panel; `new` has none. */
  readonly row: string | undefined
  /** The user as whom rows are read. */
  readonly as: string | undefined
}

export type ViewChange = Partial<Omit<View, 'widths'>> & { readonly width?: readonly [string, number] }

export function readView(search: URLSearchParams): View {
  const text = (name: string) => search.get(name) ?? undefined
  return {
    filter: search.get('filter') ?? '',
    sort: search.get('sort') ?? '',
    from: text('from'),
    hidden: search.getAll('hide'),
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
    as: text('as'),
  }
}

export function writeView(search: URLSearchParams, change: ViewChange): URLSearchParams {
  const next = new URLSearchParams(search)
  const put = (name: string, values: readonly string[]) => {
    next.delete(name)
    for (const value of values) next.append(name, value)
  }
  const parameters = { hidden: 'hide', order: 'order', pinned: 'pin' } as const
  for (const [name, value] of Object.entries(change)) {
    if (name === 'hidden' || name === 'order' || name === 'pinned') put(parameters[name], change[name] ?? [])
    else if (name === 'width') {
      const [column, width] = change.width ?? ['', 0]
      const widths = new Map(readView(search).widths).set(column, Math.round(width))
      put(
        'width',
        Array.from(widths, ([key, pixels]) => `${key}:${pixels}`),
      )
    } else put(name, value === undefined || value === '' ? [] : [String(value)])
  }
  // A place in the rows belongs to their order.
  if (('filter' in change || 'sort' in change) && !('from' in change)) next.delete('from')
  return next
}

export function useView() {
  const [search, setSearch] = useSearchParams()
  const view = useMemo(() => readView(search), [search])
  const change = useCallback(
    (next: ViewChange, { replace = true } = {}) =>
      setSearch((current) => writeView(current, next), { replace }),
    [setSearch],
  )
  return [view, change] as const
}
