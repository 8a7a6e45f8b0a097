/** What the grid shows. Rows and cells stay with the view: the grid asks for those it draws. */
export interface GridColumn {
  /** Unique. */
  readonly key: string
  readonly title: string
  /** Of the database, below the title. */
  readonly type: string
  /** Numbers stand at the end of their cell. */
  readonly align?: 'end'
  /** In pixels. */
  readonly width: number
  /** Stays in view while others scroll; pinned columns come first. */
  readonly isPinned?: boolean
  /** Such as `key`, for people and screen readers. */
  readonly note?: string | undefined
  readonly canSort?: boolean
}

export interface GridCell {
  /** null is NULL, which is shown as a word. */
  readonly text: string | null
  /** Of a value that is longer than what is shown: `5 MB`. */
  readonly note?: string | undefined
  readonly isChanged?: boolean
  /** What is wrong with a value that was typed. */
  readonly fault?: string | undefined
}

export type RowState = 'created' | 'deleted' | 'changed' | 'conflict' | 'marked'

/** A place in the grid: indexes of a row and of a shown column. */
export interface Place {
  readonly row: number
  readonly column: number
}

export type RowAction = 'select' | 'edit' | 'tick' | 'open'
export type OnRow = (action: RowAction, place: Place, isExtending: boolean) => void

/** Cells from one corner to the other; the active cell is `focus`. */
export interface Selection {
  readonly anchor: Place
  readonly focus: Place
}

export interface GridSort {
  readonly key: string
  readonly isDescending: boolean
}

export interface EditRequest extends Place {
  /** What was typed to begin with; undefined: the value stays. */
  readonly typed: string | undefined
}
