import { memo, type ReactNode } from 'react'
import { GridCellView } from './cell.tsx'
import styles from './grid.module.css'
import { gutterWidth, headerHeight, rowHeight } from './layout.ts'
import type { GridCell, GridColumn, OnRow, RowState } from './model.ts'
import type { ColumnLayout } from './use-window.ts'

interface GridRowProps {
  readonly id: string
  readonly index: number
  readonly number: number
  readonly width: number
  readonly columns: readonly GridColumn[]
  /** Unpinned columns in view. */
  readonly placed: readonly ColumnLayout[]
  readonly pinned: readonly number[]
  readonly cell: (row: number, column: GridColumn) => GridCell
  readonly version: unknown
  readonly state: RowState | undefined
  readonly isTicked: boolean
  /** Index of the active column; -1 if the active cell is in another row. */
  readonly activeColumn: number
  /** First column of the selected range; -1 if the row is not selected. */
  readonly left: number
  readonly right: number
  readonly editingColumn: number
  readonly editor: ReactNode
  readonly canTick: boolean
  readonly canOpen: boolean
  readonly on: OnRow
}

/** Names of the row states, so that colour is not the only sign. */
const stateNames: Readonly<Record<RowState, string>> = {
  created: 'new',
  deleted: 'to be deleted',
  changed: 'edited',
  conflict: 'conflict',
  marked: 'changed by another user',
}
const stateSigns: Readonly<Record<RowState, string>> = {
  created: '+',
  deleted: '−',
  changed: '•',
  conflict: '!',
  marked: '↻',
}

/** Renders a row only when its own properties change. */
export const GridRow = memo(drawRow)

function drawRow(props: GridRowProps) {
  const { index, number, width, placed, pinned, state, isTicked, on } = props
  return (
    <div
      role="row"
      aria-rowindex={number + 1}
      aria-selected={isTicked || undefined}
      className={styles.row}
      data-state={state}
      style={{ width, top: headerHeight + index * rowHeight }}
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
      {pinned.map((left, column) => drawCell(props, column, left))}
      {placed.map(({ index: column, start }) => drawCell(props, column, start))}
    </div>
  )
}

function drawCell(props: GridRowProps, column: number, left: number) {
  const shown = props.columns[column]
  if (shown === undefined) return null
  const isEditing = props.editingColumn === column
  return (
    <GridCellView
      key={shown.key}
      id={`${props.id}-${props.index}-${column}`}
      row={props.index}
      column={column}
      shown={shown}
      left={left}
      isPinned={column < props.pinned.length}
      cell={props.cell}
      version={props.version}
      isActive={props.activeColumn === column}
      isSelected={column >= props.left && column <= props.right}
      isEditing={isEditing}
      isRowEdited={props.editingColumn !== -1}
      editor={isEditing ? props.editor : undefined}
      on={props.on}
    />
  )
}
