import type { Place, Selection } from './model.ts'

/** Moving about a grid by keys, as spreadsheets do. Pure. */

export interface Extent {
  readonly rows: number
  readonly columns: number
  /** Rows that fit into the view. */
  readonly page: number
}

export interface KeyPress {
  readonly key: string
  readonly shift: boolean
  /** Ctrl or ⌘. */
  readonly mod: boolean
}

export const selectCell = (place: Place): Selection => ({ anchor: place, focus: place })

/** The selection after the key; undefined when the key does not move it. */
export function moveSelection(selection: Selection, press: KeyPress, extent: Extent): Selection | undefined {
  if (press.mod && press.key.toLowerCase() === 'a') {
    return {
      anchor: { row: 0, column: 0 },
      focus: clampPlace({ row: extent.rows - 1, column: extent.columns - 1 }, extent),
    }
  }
  const moved = movePlace(selection.focus, press, extent)
  if (moved === undefined) return undefined
  const focus = clampPlace(moved, extent)
  return press.shift ? { anchor: selection.anchor, focus } : selectCell(focus)
}

function movePlace({ row, column }: Place, { key, mod }: KeyPress, extent: Extent): Place | undefined {
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

export function clampPlace({ row, column }: Place, { rows, columns }: Extent): Place {
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

/** Whether a key begins to type over the cell. */
export const isTyped = ({ key, mod }: KeyPress) => !mod && [...key].length === 1 && key !== ' '
