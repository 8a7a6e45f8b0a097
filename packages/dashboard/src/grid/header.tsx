import { memo, useRef } from 'react'
import styles from './grid.module.css'
import { gutterWidth, narrowestColumn } from './layout.ts'
import type { GridColumn, GridSort } from './model.ts'
import type { ColumnLayout } from './use-window.ts'

export interface HeaderActions {
  /** Called to sort by a column. @param isAdded true with Shift: adds the column to the current sort */
  readonly onSort?: ((column: GridColumn, isAdded: boolean) => void) | undefined
  readonly onResize?: ((column: GridColumn, width: number) => void) | undefined
  /** Called when a column is dropped on another one, whose position it takes. */
  readonly onMove?: ((column: GridColumn, target: GridColumn) => void) | undefined
}

interface GridHeaderProps extends HeaderActions {
  readonly columns: readonly GridColumn[]
  readonly placed: readonly ColumnLayout[]
  readonly pinned: readonly number[]
  readonly width: number
  readonly sort?: readonly GridSort[] | undefined
  readonly onTickAll?: (() => void) | undefined
}

/** Renders the header only when its own properties change. Rows scroll below it. */
export const GridHeader = memo(drawHeader)

function drawHeader({ columns, placed, pinned, width, sort, onTickAll, ...actions }: GridHeaderProps) {
  const cellAt = (index: number, left: number, isPinned: boolean) => {
    const column = columns[index]
    return column === undefined ? null : (
      <HeaderCell
        key={column.key}
        column={column}
        columns={columns}
        index={index}
        left={left}
        isPinned={isPinned}
        sort={sort}
        {...actions}
      />
    )
  }
  return (
    <div role="rowgroup" className={styles.header} style={{ width }}>
      <div role="row" aria-rowindex={1} className={styles.headerRow}>
        <div role="columnheader" aria-colindex={1} className={styles.gutter} style={{ width: gutterWidth }}>
          {onTickAll === undefined ? (
            <span className="visually-hidden">Row</span>
          ) : (
            <button type="button" tabIndex={-1} onClick={onTickAll}>
              All
            </button>
          )}
        </div>
        {pinned.map((left, index) => cellAt(index, left, true))}
        {placed.map(({ index, start }) => cellAt(index, start, false))}
      </div>
    </div>
  )
}

/** Data type of a dragged column. Columns are dragged between the headers of one grid. */
const draggedType = 'application/x-basalt-column'

interface HeaderCellProps extends HeaderActions {
  readonly column: GridColumn
  readonly columns: readonly GridColumn[]
  readonly index: number
  readonly left: number
  readonly isPinned: boolean
  readonly sort: readonly GridSort[] | undefined
}

const HeaderCell = memo(function HeaderCell(props: HeaderCellProps) {
  const { column, columns, index, left, isPinned, sort = [], onSort, onResize, onMove } = props
  const resize = useRef<{ readonly x: number; readonly width: number }>(undefined)
  const order = sort.findIndex(({ key }) => key === column.key)
  const sorted = sort[order]
  const direction = sorted === undefined ? 'none' : sorted.isDescending ? 'descending' : 'ascending'
  const sign = sorted === undefined ? '' : sorted.isDescending ? '▾' : '▴'
  const canSort = onSort !== undefined && column.canSort !== false
  return (
    <div
      role="columnheader"
      aria-colindex={index + 2}
      aria-sort={canSort ? direction : undefined}
      className={styles.heading}
      data-align={column.align}
      style={{ position: isPinned ? 'sticky' : 'absolute', left, width: column.width }}
      draggable={onMove !== undefined}
      onDragStart={(event) => event.dataTransfer.setData(draggedType, column.key)}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes(draggedType)) event.preventDefault()
      }}
      onDrop={(event) => {
        const dragged = columns.find(({ key }) => key === event.dataTransfer.getData(draggedType))
        if (dragged !== undefined && dragged !== column) onMove?.(dragged, column)
      }}
    >
      <button
        type="button"
        tabIndex={-1}
        disabled={!canSort}
        title={`${column.title}: ${column.type}`}
        onClick={(event) => onSort?.(column, event.shiftKey)}
      >
        <span className={styles.title}>
          {column.title} {sign}
          {sort.length > 1 && sorted !== undefined ? order + 1 : ''}
        </span>
        <span className={styles.type}>
          {column.type}
          {column.note === undefined ? '' : ` · ${column.note}`}
        </span>
      </button>
      {onResize !== undefined && (
        <div
          className={styles.resizer}
          onPointerDown={(event) => {
            event.preventDefault()
            event.currentTarget.setPointerCapture(event.pointerId)
            resize.current = { x: event.clientX, width: column.width }
          }}
          onPointerMove={(event) => {
            const { current } = resize
            if (current === undefined) return
            onResize(column, Math.max(narrowestColumn, current.width + event.clientX - current.x))
          }}
          onPointerUp={() => {
            resize.current = undefined
          }}
        />
      )}
    </div>
  )
})
