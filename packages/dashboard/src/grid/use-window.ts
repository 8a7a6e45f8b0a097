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
import type { GridColumn, Place } from './model.ts'

interface Spans {
  readonly rows: Span
  readonly columns: Span
}

/** A column that is not pinned: its index among all, and the pixel at which it begins. */
export interface ColumnLayout {
  readonly index: number
  readonly start: number
}

const none: Span = { first: 0, end: 0 }

/**
 * Which rows and columns are drawn: those in view and some around them. The scroll position of both directions is read once,
 * before anything is drawn, because reading it afterwards lays the page out a second time in the same frame.
 *
 * @param kept stays in the document wherever the view goes: a cell with what is being typed
 */
export function useWindow(
  scroller: RefObject<HTMLElement | null>,
  columns: readonly GridColumn[],
  rowCount: number,
  kept: Place | undefined,
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
    // A scroll is followed in the frame in which it is shown.
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
  const keptColumn = kept === undefined ? -1 : kept.column - pinned.offsets.length
  const placed = useMemo(
    () =>
      indexesOf({ first, end: Math.min(end, starts.length - 1) }, keptColumn).map(
        (index): ColumnLayout => ({ index: pinned.offsets.length + index, start: starts[index] ?? 0 }),
      ),
    [starts, first, end, pinned, keptColumn],
  )
  const drawnRows = { first: spans.rows.first, end: Math.min(spans.rows.end, rowCount) }

  return {
    rows: indexesOf(drawnRows, kept?.row ?? -1),
    firstRow: drawnRows.first,
    lastRow: drawnRows.end - 1,
    /** Pixels above the view, as they were read last. */
    scrolled: () => scrolled.current,
    /** Moves the view by so many rows, over others that are drawn in their place. */
    shift(by: number) {
      if (by === 0 || scroller.current === null) return
      scroller.current.scrollTop += by * rowHeight
      scrolled.current = scroller.current.scrollTop
    },
    columns: placed,
    pinned: pinned.offsets,
    width: starts.at(-1) ?? 0,
    height: headerHeight + rowCount * rowHeight,
    reveal({ row, column }: Place) {
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

/** @param kept -1: none */
function indexesOf({ first, end }: Span, kept: number): number[] {
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)
  if (kept < 0 || (kept >= first && kept < end)) return indexes
  return kept < first ? [kept, ...indexes] : [...indexes, kept]
}

const isSame = (left: Span, right: Span) => left.first === right.first && left.end === right.end
