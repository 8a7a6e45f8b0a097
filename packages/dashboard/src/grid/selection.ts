import type { CellPosition, Selection } from './model.ts'

/** Keyboard navigation of a grid, as in spreadsheets. All functions are pure. */

/** Size of the grid in cells. */
export interface Extent {
  readonly rows: number
  readonly columns: number
  /** Number of rows that fit into the view. */
  readonly page: number
}

export interface KeyPress {
  readonly key: string
  readonly shift: boolean
  /** True if Ctrl or ⌘ is held. */
  readonly mod: boolean
}

export const selectCell = (position: CellPosition): Selection => ({ anchor: position, focus: position })

/** Returns the selection after a key press, or undefined if the key does not move it. */
export function moveSelection(selection: Selection, press: KeyPress, extent: Extent): Selection | undefined {
  if (press.mod && press.key.toLowerCase() === 'a') {
    return {
      anchor: { row: 0, column: 0 },
      focus: clampCell({ row: extent.rows - 1, column: extent.columns - 1 }, extent),
    }
  }
  const moved = moveCell(selection.focus, press, extent)
  if (moved === undefined) return undefined
  const focus = clampCell(moved, extent)
  return press.shift ? { anchor: selection.anchor, focus } : selectCell(focus)
}

function moveCell(
  { row, column }: CellPosition,
  { key, mod }: KeyPress,
  extent: Extent,
): CellPosition | undefined {
  const lastRow = extent.rows - 1
  const lastColumn = extent.columns - 1
  switch (key) {
    case 'ArrowUp':
      return { row: mod ? 0 : row - 1, column }
    case 'ArrowDown':
      return { row: mod ? lastRow : row + 1, column }
    case 'ArrowLeft':
      return { row, column: mod ? 0 : column - 1 }
    case 'ArrowRight':
      return { row, column: mod ? lastColumn : column + 1 }
    case 'PageUp':
      return { row: row - extent.page, column }
    case 'PageDown':
      return { row: row + extent.page, column }
    case 'Home':
      return { row: mod ? 0 : row, column: 0 }
    case 'End':
      return { row: mod ? lastRow : row, column: lastColumn }
    default:
      return undefined
  }
}

export function clampCell({ row, column }: CellPosition, { rows, columns }: Extent): CellPosition {
  return {
    row: Math.max(0, Math.min(rows - 1, row)),
    column: Math.max(0, Math.min(columns - 1, column)),
  }
}

export interface Range {
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
}

export function rangeOf({ anchor, focus }: Selection): Range {
  return {
    top: Math.min(anchor.row, focus.row),
    bottom: Math.max(anchor.row, focus.row),
    left: Math.min(anchor.column, focus.column),
    right: Math.max(anchor.column, focus.column),
  }
}

/** Returns true if a key starts typing over the cell. */
export const isTyped = ({ key, mod }: KeyPress) => !mod && [...key].length === 1 && key !== ' '
