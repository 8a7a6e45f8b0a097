import type { GridColumn } from './model.ts'

/** Height of a row in pixels. All rows have the same height, so their positions need no measuring. */
export const rowHeight = 28
export const headerHeight = 40
export const gutterWidth = 64
export const narrowestColumn = 48

/** Layout of the pinned columns: their offsets, and the total width including the gutter. */
export interface PinnedLayout {
  readonly offsets: readonly number[]
  readonly width: number
}

export function pinnedOffsets(columns: readonly GridColumn[]): PinnedLayout {
  const offsets: number[] = []
  let width = gutterWidth
  for (const column of columns) {
    if (column.isPinned !== true) break
    offsets.push(width)
    width += column.width
  }
  return { offsets, width }
}

/** Returns the start of each unpinned column, and the end of the last one as the last element. */
export function columnStarts(
  columns: readonly GridColumn[],
  { offsets, width }: PinnedLayout,
): readonly number[] {
  const starts = [width]
  let end = width
  for (const column of columns.slice(offsets.length)) {
    end += column.width
    starts.push(end)
  }
  return starts
}

/** Visible part of a grid, in pixels. */
export interface View {
  readonly top: number
  readonly left: number
  readonly height: number
  readonly width: number
}

/** Range of indexes from `first` to before `end`. */
export interface Span {
  readonly first: number
  readonly end: number
}

/** Number of rows rendered above and below the view, so that scrolling does not show gaps. */
const rowsAround = 8
/** Step by which the rendered rows change. Most frames of a scroll render nothing. */
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

/**
 * Returns the unpinned columns in view. @param starts result of {@link columnStarts}. Pinned columns hide the columns below
 * them.
 */
export function columnsInView({ left, width }: View, starts: readonly number[], pinned: PinnedLayout): Span {
  const first = lastAtOrBefore(starts, left + pinned.width)
  const end = lastAtOrBefore(starts, left + width) + 1
  return {
    first: Math.max(0, first - columnsAround),
    end: Math.min(starts.length - 1, end + columnsAround),
  }
}

/** Finds a start by binary search, as there may be two thousand columns. */
function lastAtOrBefore(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns the nearest scroll position at which a part is in view. */
export function scrollTo(now: number, size: number, covered: number, from: number, to: number): number {
  if (from - covered < now) return from - covered
  return to > now + size ? to - size : now
}

/** Returns the width of a column that the user has not resized. */
export function defaultWidth(title: string, type: string): number {
  const byType = /^(smallint|integer|boolean|real)/.test(type)
    ? 90
    : /^(bigint|date|numeric|double)/.test(type)
      ? 120
      : /^timestamp/.test(type)
        ? 220
        : type === 'uuid'
          ? 280
          : type === 'key'
            ? 110
            : type === 'label'
              ? 160
              : /^(text|json|character varying)|range$/.test(type)
                ? 220
                : 160
  return Math.min(320, Math.max(byType, title.length * 8 + 40))
}
