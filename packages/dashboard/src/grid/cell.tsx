import { memo, type ReactNode } from 'react'
import { visibleText } from '../ui/visible-text.ts'
import styles from './grid.module.css'
import type { GridCell, GridColumn, OnRow } from './model.ts'

interface GridCellViewProps {
  readonly id: string
  readonly row: number
  readonly column: number
  readonly shown: GridColumn
  /** Offset from the start of the row, in pixels. */
  readonly left: number
  readonly isPinned: boolean
  readonly cell: (row: number, column: GridColumn) => GridCell
  /** Version of the cells. It changes whenever a result of `cell` changes. */
  readonly version: unknown
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly isEditing: boolean
  /** True if a cell of the row is being edited, this one or another. */
  readonly isRowEdited: boolean
  readonly editor: ReactNode
  readonly on: OnRow
}

/** Renders a cell only when its own properties change. Other cells in view are not rendered again while columns scroll. */
export const GridCellView = memo(drawCell)

function drawCell(props: GridCellViewProps) {
  const { row, column, shown, left, isEditing, isRowEdited, on } = props
  const { text, label, note, isChanged, fault } = props.cell(row, shown)
  const position = { row, column }
  const isDrawn = text !== null && text !== '' && label === undefined && shown.draw !== undefined
  const shownText = isDrawn ? shown.draw?.(text) : text === null ? 'NULL' : visibleText(label ?? text)
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
      title={fault ?? (label === undefined ? undefined : (text ?? undefined))}
      style={{ position: props.isPinned ? 'sticky' : 'absolute', left, width: shown.width }}
      onMouseDown={(event) => {
        if (!isEditing && event.button === 0) on('select', position, event.shiftKey)
      }}
      onMouseEnter={(event) => {
        if (event.buttons === 1 && !isRowEdited) on('select', position, true)
      }}
      onDoubleClick={() => {
        if (!isEditing) on('edit', position, false)
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
