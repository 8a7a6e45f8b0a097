import { useLayoutEffect, useRef } from 'react'
import { rowHeight } from './layout.ts'
import type { Selection } from './model.ts'
import type { useWindow } from './use-window.ts'

interface AnchorOptions {
  readonly shown: Pick<ReturnType<typeof useWindow>, 'scrolled' | 'shift'>
  readonly rowCount: number
  readonly rowKey: (row: number) => string
  readonly selection: Selection
  readonly onSelect: (selection: Selection) => void
}

interface Anchor {
  readonly top: { readonly row: number; readonly key: string }
  readonly focus: { readonly row: number; readonly key: string }
  readonly selection: Selection
}

/**
 * Keeps the view stable while rows are added and removed. The first row in view stays at its position, and the selection stays
 * on its row. At the very top, new rows are shown.
 */
export function useAnchor({ shown, rowCount, rowKey, selection, onSelect }: AnchorOptions): void {
  const known = useRef<Anchor>(undefined)
  useLayoutEffect(() => {
    if (rowCount === 0) {
      known.current = undefined
      return
    }
    const before = known.current
    if (before !== undefined && shown.scrolled() > 0) shown.shift(shiftOf(before.top, rowCount, rowKey))
    if (before?.selection === selection) {
      const by = shiftOf(before.focus, rowCount, rowKey)
      const { anchor, focus } = selection
      if (by !== 0)
        onSelect({
          anchor: { ...anchor, row: Math.max(0, anchor.row + by) },
          focus: { ...focus, row: focus.row + by },
        })
    }
    const at = (row: number) => ({ row, key: rowKey(row) })
    const lastRow = rowCount - 1
    known.current = {
      top: at(Math.min(lastRow, Math.floor(shown.scrolled() / rowHeight))),
      focus: at(Math.min(lastRow, selection.focus.row)),
      selection,
    }
  })
}

/** Returns the number of rows by which a row has moved, or 0 if it was removed. Searches the nearest positions first. */
export function shiftOf(
  { row, key }: { readonly row: number; readonly key: string },
  rowCount: number,
  rowKey: (row: number) => string,
): number {
  if (row < rowCount && rowKey(row) === key) return 0
  for (let by = 1; row - by >= 0 || row + by < rowCount; by += 1) {
    if (row + by < rowCount && rowKey(row + by) === key) return by
    if (row - by >= 0 && row - by < rowCount && rowKey(row - by) === key) return -by
  }
  return 0
}
