import type { GridColumn } from './model.ts'

/** In pixels; all rows are equally high, so that their places need no measuring. */
export const rowHeight = 28
export const headerHeight = 40
export const gutterWidth = 64
export const narrowestColumn = 48

/** Where the pinned columns stand, and how wide they and the gutter are together. */
export interface Pinned {
  readonly offsets: readonly number[]
  readonly width: number
}

export function pinnedOffsets(columns: readonly GridColumn[]): Pinned {
  const offsets: number[] = []
  let width = gutterWidth
  for (const column of columns) {
    if (column.isPinned !== true) break
    offsets.push(width)
    width += column.width
  }
  return { offsets, width }
}

/** Where each column that is not pinned begins, and at last where the last one ends. */
export function columnStarts(columns: readonly GridColumn[], { offsets, width }: Pinned): readonly number[] {
  const starts = [width]
  let end = width
  for (const column of columns.slice(offsets.length)) {
    end += column.width
    starts.push(end)
  }
  return starts
}

/** What of a grid can be seen, in pixels. */
export interface View {
  readonly top: number
  readonly left: number
  readonly height: number
  readonly width: number
}

/** Indexes from `first` to before `end`. */
export interface Span {
  readonly first: number
  readonly end: number
}

/** Rows drawn above and below those in view, so that a scroll does not outrun them. */
const rowsAround = 8
/** Rows come and go by so many: most frames of a scroll draw nothing. */
const rowsAtOnce = 4
const columnsAround = 2

export function rowsInView({ top, height }: View, count: number): Span {
  const first = Math.floor(top / rowHeight) - rowsAround
  const end = Math.ceil((top + height) / rowHeight) + rowsAround
  return {
    first: Math.max(0, Math.floor(first / rowsAtOnce) * rowsAtOnce),
    end: Math.min(count, Math.ceil(end / rowsAtOnce) * rowsAtOnce),
  }
}

/** @param starts of {@link columnStarts}; the pinned columns hide what is below them */
export function columnsInView({ left, width }: View, starts: readonly number[], pinned: Pinned): Span {
  const first = lastAtOrBefore(starts, left + pinned.width)
  const end = lastAtOrBefore(starts, left + width) + 1
  return {
    first: Math.max(0, first - columnsAround),
    end: Math.min(starts.length - 1, end + columnsAround),
  }
}

/** By halves: there may be two thousand. */
function lastAtOrBefore(starts: readonly number[], place: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= place) low = middle
    else high = middle - 1
  }
  return low
}

/** The scroll position at which a part is in view, as near as possible to the present one. */
export function scrollTo(now: number, size: number, covered: number, from: number, to: number): number {
  if (from - covered < now) return from - covered
  return to > now + size ? to - size : now
}

/** How wide a column is before a person has changed it. */
export function defaultWidth(title: string, type: string): number {
  const byType = /^(smallint|integer|boolean|real)/.test(type)
    ? 90
    : /^(bigint|date|numeric|double)/.test(type)
      ? 120
      : /^timestamp/.test(type)
        ? 220
        : type === 'uuid'
          ? 280
          : /^(text|json|character varying)/.test(type)
            ? 220
            : 160
  return Math.min(320, Math.max(byType, title.length * 8 + 40))
}
