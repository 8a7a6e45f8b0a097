import type { ReactNode } from 'react'

/** Model of the grid. The view holds rows and cells, and the grid requests the ones it renders. */
/** Column of the grid. */
export interface GridColumn {
  /** Unique key. */
  readonly key: string
  readonly title: string
  /** Database type, shown below the title. */
  readonly type: string
  /** Alignment; `end` for numbers. */
  readonly align?: 'end'
  /** Width in pixels. */
  readonly width: number
  /** True to keep the column in view while others scroll. Pinned columns come first. */
  readonly isPinned?: boolean
  /** Note for users and screen readers, such as `key`. */
  readonly note?: string | undefined
  readonly canSort?: boolean
  /** Renders the texts of the column in another form than plain text. */
  readonly draw?: ((text: string) => ReactNode) | undefined
}

export interface GridCell {
  /** Text of the cell; null for NULL, which is shown as a word. */
  readonly text: string | null
  /** Name of the user or row that the text refers to. It is shown instead of the text. */
  readonly label?: string
  /** Note on a value that is longer than the shown text, such as `5 MB`. */
  readonly note?: string | undefined
  readonly isChanged?: boolean
  /** Error in a typed value. */
  readonly fault?: string | undefined
}

export type RowState = 'created' | 'deleted' | 'changed' | 'conflict' | 'marked'

/** Position of a cell: index of a row and of a shown column. */
export interface CellPosition {
  readonly row: number
  readonly column: number
}

export type RowAction = 'select' | 'edit' | 'tick' | 'open'
export type OnRow = (action: RowAction, position: CellPosition, isExtending: boolean) => void

/** Range of cells between two corners. `focus` is the active cell. */
export interface Selection {
  readonly anchor: CellPosition
  readonly focus: CellPosition
}

export interface GridSort {
  readonly key: string
  readonly isDescending: boolean
}

export interface EditRequest extends CellPosition {
  /** Text that the user typed to start the edit; undefined to keep the value. */
  readonly typed: string | undefined
}
