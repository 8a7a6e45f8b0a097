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

interface Known {
  readonly top: { readonly row: number; readonly key: string }
  readonly focus: { readonly row: number; readonly key: string }
  readonly selection: Selection
}

/**
 * Rows come and go while a person reads and types: the first row in view stays where it is, and the selection on the row
 * it was on. At the very top new rows are shown.
 */
export function useAnchor({ shown, rowCount, rowKey, selection, onSelect }: AnchorOptions): void {
  const known = useRef<Known>(undefined)
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
    const last = rowCount - 1
    known.current = {
      top: at(Math.min(last, Math.floor(shown.scrolled() / rowHeight))),
      focus: at(Math.min(last, selection.focus.row)),
      selection,
    }
  })
}

/** By how many rows the row with the key has moved; 0 when it is no longer there. The nearest places first. */
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
