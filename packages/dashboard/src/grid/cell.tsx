import { memo, type ReactNode } from 'react'
import { visibleText } from '../ui/visible-text.ts'
import styles from './grid.module.css'
import type { GridCell, GridColumn, OnRow } from './model.ts'

interface GridCellViewProps {
  readonly id: string
  readonly row: number
  readonly column: number
  readonly shown: GridColumn
  /** Pixels from the start of the row. */
  readonly left: number
  readonly isPinned: boolean
  readonly cell: (row: number, column: GridColumn) => GridCell
  /** Changes when the answer of `cell` does. */
  readonly version: unknown
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly isEditing: boolean
  /** Another cell of the row may be. */
  readonly isRowEdited: boolean
  readonly editor: ReactNode
  readonly on: OnRow
}

/** Drawn again only when something of its own changes: while columns scroll past, the others in view stay as they are. */
export const GridCellView = memo(drawCell)

function drawCell(props: GridCellViewProps) {
  const { row, column, shown, left, isEditing, isRowEdited, on } = props
  const { text, note, isChanged, fault } = props.cell(row, shown)
  const place = { row, column }
  const shownText = text === null ? 'NULL' : visibleText(text)
  return (
    <div
      id={props.id}
      role="gridcell"
      aria-colindex={column + 2}
      aria-selected={props.isSelected || undefined}
      aria-invalid={fault === undefined ? undefined : true}
      className={styles.cell}
      data-align={shown.align}
      data-active={props.isActive || undefined}
      data-changed={isChanged || undefined}
      data-null={text === null || undefined}
      data-editing={isEditing || undefined}
      data-noted={note !== undefined || undefined}
      title={fault}
      style={{ position: props.isPinned ? 'sticky' : 'absolute', left, width: shown.width }}
      onMouseDown={(event) => {
        if (!isEditing && event.button === 0) on('select', place, event.shiftKey)
      }}
      onMouseEnter={(event) => {
        if (event.buttons === 1 && !isRowEdited) on('select', place, true)
      }}
      onDoubleClick={() => {
        if (!isEditing) on('edit', place, false)
      }}
    >
      {isEditing ? (
        props.editor
      ) : note === undefined ? (
        shownText
      ) : (
        <>
          <span className={styles.text}>{shownText}</span>
          <span className={styles.note}>{note}</span>
        </>
      )}
    </div>
  )
}
