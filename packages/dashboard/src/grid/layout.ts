import type { GridColumn } from './model.ts'

/** In pixels; all rows are equally high, so that their places need no measuring. */
export const rowHeight = 28
export const headerHeight = 40
export const gutterWidth = 64
export const narrowestColumn = 48

/** Where the pinned columns stand, and how wide they and the gutter are together. */
export function pinnedOffsets(columns: readonly GridColumn[]): {
  readonly offsets: readonly number[]
  readonly width: number
} {
  const offsets: number[] = []
  let width = gutterWidth
  for (const column of columns) {
    if (column.isPinned !== true) break
    offsets.push(width)
    width += column.width
  }
  return { offsets, width }
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
