import type { VirtualItem } from '@tanstack/react-virtual'
import { memo, type ReactNode } from 'react'
import styles from './grid.module.css'
import { gutterWidth } from './layout.ts'
import type { GridCell, GridColumn, Place, RowState } from './model.ts'

export type RowAction = 'select' | 'edit' | 'tick' | 'open'

interface GridRowProps {
  readonly id: string
  readonly index: number
  readonly number: number
  readonly top: number
  readonly width: number
  readonly columns: readonly GridColumn[]
  /** The columns in view that are not pinned. */
  readonly items: readonly VirtualItem[]
  readonly pinned: readonly number[]
  readonly cell: (row: number, column: GridColumn) => GridCell
  readonly version: unknown
  readonly state: RowState | undefined
  readonly isTicked: boolean
  /** -1: not in this row. */
  readonly activeColumn: number
  /** Of the selected range; -1: none in this row. */
  readonly left: number
  readonly right: number
  readonly editingColumn: number
  readonly editor: ReactNode
  readonly canTick: boolean
  readonly canOpen: boolean
  readonly on: (action: RowAction, place: Place, isExtending: boolean) => void
}

/** Says in a word what a colour of the row means. */
const stateNames: Readonly<Record<RowState, string>> = {
  created: 'new',
  deleted: 'to be deleted',
  changed: 'edited',
  conflict: 'conflict',
  marked: 'changed by another',
}
const stateSigns: Readonly<Record<RowState, string>> = {
  created: '+',
  deleted: '−',
  changed: '•',
  conflict: '!',
  marked: '↻',
}

/** Drawn again only when something of its own changes. */
export const GridRow = memo(drawRow)

function drawRow(props: GridRowProps) {
  const { index, number, top, width, columns, items, pinned, state, isTicked, on } = props
  return (
    <div
      role="row"
      aria-rowindex={number + 1}
      aria-selected={isTicked || undefined}
      className={styles.row}
      data-state={state}
      data-odd={index % 2 === 1 || undefined}
      style={{ width, transform: `translateY(${top}px)` }}
    >
      <div
        role="rowheader"
        aria-colindex={1}
        className={styles.gutter}
        style={{ width: gutterWidth }}
        title={state === undefined ? undefined : stateNames[state]}
      >
        {props.canTick && (
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Row ${number}`}
            checked={isTicked}
            onChange={() => on('tick', { row: index, column: 0 }, false)}
          />
        )}
        {props.canOpen ? (
          <button
            type="button"
            tabIndex={-1}
            aria-label={`Open row ${number}`}
            onClick={() => on('open', { row: index, column: 0 }, false)}
          >
            {state === undefined ? number : stateSigns[state]}
          </button>
        ) : (
          <span>{state === undefined ? number : stateSigns[state]}</span>
        )}
        {state !== undefined && <span className="visually-hidden">{stateNames[state]}</span>}
      </div>
      {pinned.map((left, column) => {
        const shown = columns[column]
        return shown === undefined
          ? null
          : drawCell(props, column, shown, { position: 'sticky', left, width: shown.width })
      })}
      {items.map((item) => {
        const column = pinned.length + item.index
        const shown = columns[column]
        return shown === undefined
          ? null
          : drawCell(props, column, shown, { position: 'absolute', left: item.start, width: item.size })
      })}
    </div>
  )
}

function drawCell(props: GridRowProps, column: number, shown: GridColumn, style: React.CSSProperties) {
  const { id, index, activeColumn, left, right, editingColumn, on } = props
  const isEditing = editingColumn === column
  const { text, note, isChanged, fault } = props.cell(index, shown)
  const place = { row: index, column }
  return (
    <div
      key={shown.key}
      id={`${id}-${index}-${column}`}
      role="gridcell"
      aria-colindex={column + 2}
      aria-selected={(column >= left && column <= right) || undefined}
      aria-invalid={fault === undefined ? undefined : true}
      className={styles.cell}
      data-align={shown.align}
      data-active={activeColumn === column || undefined}
      data-changed={isChanged || undefined}
      data-null={text === null || undefined}
      data-editing={isEditing || undefined}
      title={fault}
      style={style}
      onMouseDown={(event) => {
        if (!isEditing && event.button === 0) on('select', place, event.shiftKey)
      }}
      onMouseEnter={(event) => {
        if (event.buttons === 1 && editingColumn === -1) on('select', place, true)
      }}
      onDoubleClick={() => {
        if (!isEditing) on('edit', place, false)
      }}
    >
      {isEditing ? (
        props.editor
      ) : (
        <>
          {/* Lines of a text stand beside each other: rows are equally high. */}
          <span className={styles.text}>{text === null ? 'NULL' : text}</span>
          {note !== undefined && <span className={styles.note}>{note}</span>}
        </>
      )}
    </div>
  )
}
