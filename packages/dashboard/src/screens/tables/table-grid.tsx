import { useMemo, useRef } from 'react'
import { Grid } from '../../grid/grid.tsx'
import type { Selection } from '../../grid/model.ts'
import { EmptyState } from '../../ui/states.tsx'
import { CellEditor, type Move } from './cell-editor.tsx'
import { formatSort, parseSort, toggleSort } from './names.ts'
import type { PickedValues } from './reference-picker.tsx'
import type { OpenCell } from './use-cell-editing.ts'
import type { Rows } from './use-rows.ts'
import type { Table } from './use-table.ts'

/** Returns the element of a grid, and the step that stages a cell and moves the selection from it. */
export function useCommit({ editing }: Table, onSelect: (selection: Selection) => void) {
  const grid = useRef<HTMLDivElement>(null)
  const focusGrid = () => grid.current?.querySelector<HTMLElement>('[role=grid]')?.focus()
  const commit = (cell: OpenCell, values: PickedValues, move: Move) => {
    editing.commit(cell, values)
    focusGrid()
    const by = { stay: [0, 0], down: [1, 0], right: [0, 1], left: [0, -1] }[move]
    const focus = { row: cell.row + (by[0] ?? 0), column: cell.column + (by[1] ?? 0) }
    onSelect({ anchor: focus, focus })
  }
  return { grid, focusGrid, commit }
}

interface Props {
  readonly table: Table
  readonly selection: Selection
  readonly onSelect: (selection: Selection) => void
  readonly committing: ReturnType<typeof useCommit>
}

/** Renders the rows of a table as a grid with in-place editing. */
export function TableGrid({ table, selection, onSelect, committing }: Props) {
  const { info, view, changeView, rows, ticked, live, model, columns, isWritable, editing } = table
  const { grid, focusGrid, commit } = committing
  const sort = useMemo(() => parseSort(view.sort), [view.sort])
  const opened = editing.opened?.isInline === true ? editing.opened : undefined
  return (
    <div ref={grid} style={{ display: 'contents' }}>
      <Grid
        label={`Rows of ${info.table}`}
        columns={columns}
        rowCount={model.count}
        totalRows={rows.hasNext || rows.rows === undefined ? undefined : model.count}
        cell={model.cell}
        rowKey={model.key}
        rowState={model.state}
        version={model}
        sort={sort}
        selection={selection}
        onSelect={onSelect}
        onSort={(column, isAdded) => changeView({ sort: formatSort(toggleSort(sort, column.key, isAdded)) })}
        onResize={(column, width) => changeView({ width: [column.key, width] })}
        onMove={(column, target) => {
          const names = columns.map(({ key }) => key).filter((key) => key !== column.key)
          changeView({ order: names.toSpliced(names.indexOf(target.key), 0, column.key) })
        }}
        ticked={ticked.keys}
        onTick={(index) => ticked.toggle(model.key(index))}
        onTickAll={() => ticked.toggleAll(model)}
        onOpenRow={(index) => {
          const shown = model.row(index)
          if (shown?.kind === 'read' && shown.id !== undefined)
            changeView({ row: shown.id }, { replace: false })
        }}
        onReachEnd={rows.loadNext}
        onView={live.onView}
        onEdit={editing.open}
        editing={opened}
        editor={
          opened !== undefined && (
            <CellEditor
              key={`${opened.row} ${opened.column}`}
              column={opened.info}
              value={opened.value ?? null}
              typed={opened.typed}
              onCommit={(value, move) => commit(opened, { [opened.info.name]: value }, move)}
              onCancel={() => {
                editing.close()
                focusGrid()
              }}
            />
          )
        }
        onPaste={isWritable ? editing.paste : undefined}
        onClear={isWritable ? editing.clear : undefined}
        empty={
          rows.rows === undefined ? (
            emptyOf(rows)
          ) : view.filter === '' ? (
            <EmptyState>
              The table has no rows yet. Your app adds them, “New row” adds one, and “Rows” imports a file.
            </EmptyState>
          ) : (
            'No rows match the filter.'
          )
        }
      />
    </div>
  )
}

/** Returns the text of an empty grid. The notice above shows an error and its cause. */
const emptyOf = ({ isFetching, error }: Rows) =>
  isFetching || error === null ? 'Loading…' : 'No rows were read.'
