import { type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import {
  columnStarts,
  columnsInView,
  headerHeight,
  pinnedOffsets,
  rowHeight,
  rowsInView,
  type Span,
  scrollTo,
} from './layout.ts'
import type { CellPosition, GridColumn } from './model.ts'

interface Spans {
  readonly rows: Span
  readonly columns: Span
}

/** Layout of an unpinned column: its index among all columns, and its start in pixels. */
export interface ColumnLayout {
  readonly index: number
  readonly start: number
}

const none: Span = { first: 0, end: 0 }

/**
 * Returns the rows and columns to render: those in view and some around them. Both scroll positions are read once before
 * rendering. Reading them later would lay out the page a second time in the same frame.
 *
 * @param retained cell that stays in the document wherever the view moves, such as the edited one
 */
export function useWindow(
  scroller: RefObject<HTMLElement | null>,
  columns: readonly GridColumn[],
  rowCount: number,
  retained: CellPosition | undefined,
) {
  const [spans, setSpans] = useState<Spans>({ rows: none, columns: none })
  const shown = useRef(spans)
  const scrolled = useRef(0)
  const pinned = useMemo(() => pinnedOffsets(columns), [columns])
  const starts = useMemo(() => columnStarts(columns, pinned), [columns, pinned])

  const read = useCallback((): Spans | undefined => {
    const element = scroller.current
    if (element === null) return undefined
    const { scrollTop: top, scrollLeft: left, clientHeight: height, clientWidth: width } = element
    scrolled.current = top
    const view = { top, left, height, width }
    const next = { rows: rowsInView(view, rowCount), columns: columnsInView(view, starts, pinned) }
    const { rows, columns: across } = shown.current
    if (isSame(rows, next.rows) && isSame(across, next.columns)) return undefined
    shown.current = next
    return next
  }, [scroller, rowCount, starts, pinned])

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const update = () => {
      const next = read()
      if (next !== undefined) setSpans(next)
    }
    // A scroll is handled in the frame that shows it.
    const follow = () => {
      const next = read()
      if (next !== undefined) flushSync(() => setSpans(next))
    }
    update()
    const sizes = new ResizeObserver(update)
    sizes.observe(element)
    element.addEventListener('scroll', follow, { passive: true })
    return () => {
      sizes.disconnect()
      element.removeEventListener('scroll', follow)
    }
  }, [scroller, read])

  const { first, end } = spans.columns
  const retainedColumn = retained === undefined ? -1 : retained.column - pinned.offsets.length
  const columnLayouts = useMemo(
    () =>
      indexesOf({ first, end: Math.min(end, starts.length - 1) }, retainedColumn).map(
        (index): ColumnLayout => ({ index: pinned.offsets.length + index, start: starts[index] ?? 0 }),
      ),
    [starts, first, end, pinned, retainedColumn],
  )
  const renderedRows = { first: spans.rows.first, end: Math.min(spans.rows.end, rowCount) }

  return {
    rows: indexesOf(renderedRows, retained?.row ?? -1),
    firstRow: renderedRows.first,
    lastRow: renderedRows.end - 1,
    /** Returns the pixels above the view, as last read. */
    scrolled: () => scrolled.current,
    /** Moves the view by a number of rows that were added or removed above it. */
    shift(by: number) {
      if (by === 0 || scroller.current === null) return
      scroller.current.scrollTop += by * rowHeight
      scrolled.current = scroller.current.scrollTop
    },
    columns: columnLayouts,
    pinned: pinned.offsets,
    width: starts.at(-1) ?? 0,
    height: headerHeight + rowCount * rowHeight,
    reveal({ row, column }: CellPosition) {
      const element = scroller.current
      if (element === null) return
      const { scrollTop, scrollLeft, clientHeight, clientWidth } = element
      const above = headerHeight + row * rowHeight
      const at = column - pinned.offsets.length
      const [from, to] = [starts[at], starts[at + 1]]
      element.scrollTo({
        top: scrollTo(scrollTop, clientHeight, headerHeight, above, above + rowHeight),
        ...(from === undefined || to === undefined
          ? {}
          : { left: scrollTo(scrollLeft, clientWidth, pinned.width, from, to) }),
        behavior: 'instant',
      })
    },
  }
}

/** Returns the indexes to render. @param retained index to add; -1 for none */
function indexesOf({ first, end }: Span, retained: number): number[] {
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)
  if (retained < 0 || (retained >= first && retained < end)) return indexes
  return retained < first ? [retained, ...indexes] : [...indexes, retained]
}

const isSame = (left: Span, right: Span) => left.first === right.first && left.end === right.end
