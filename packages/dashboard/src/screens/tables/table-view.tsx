import { useEffect, useMemo, useRef, useState } from 'react'
import { cellsOf, Grid } from '../../grid/grid.tsx'
import type { Selection } from '../../grid/model.ts'
import { rangeOf } from '../../grid/selection.ts'
import type { TableInfo } from './api.ts'
import { CellEditor, type Move } from './cell-editor.tsx'
import { addRow, deleteRow, dropNew } from './changes.ts'
import { ConflictDialog } from './conflict-dialog.tsx'
import { CopyMenu } from './copy-menu.tsx'
import { FilterBar } from './filter-bar.tsx'
import { createModel, gridColumns } from './grid-model.ts'
import { LargeEditor } from './large-editor.tsx'
import { formatSort, parseSort, toggleSort } from './names.ts'
import { NewRow } from './new-row.tsx'
import { RowPanel } from './row-panel.tsx'
import { RowsNotice } from './rows-notice.tsx'
import { StagedBar } from './staged-bar.tsx'
import { StatusBar } from './status-bar.tsx'
import { TableHeading } from './table-heading.tsx'
import { TickedActions } from './ticked-actions.tsx'
import { type Opened, useCellEditing } from './use-cell-editing.ts'
import { useEdits } from './use-edits.ts'
import { useLive } from './use-live.ts'
import { useNewColumns } from './use-new-columns.ts'
import { type Rows, useRows } from './use-rows.ts'
import { useTicked } from './use-ticked.ts'
import { useView } from './use-view.ts'

const start: Selection = { anchor: { row: 0, column: 0 }, focus: { row: 0, column: 0 } }

/** The rows of a table, and everything that can be done with them. */
export function TableView({ info }: { readonly info: TableInfo }) {
  const names = useMemo(() => info.columns.map(({ name }) => name), [info])
  const [view, changeView] = useView(names)
  const [selection, setSelection] = useState(start)
  const [isLive, setLive] = useState(false)
  const [added, setAdded] = useState<Readonly<Record<string, string | null | undefined>>>()

  const request = useMemo(
    () => ({
      filter: view.filter === '' ? undefined : view.filter,
      sort: view.sort === '' ? undefined : view.sort,
      as: view.as,
    }),
    [view.filter, view.sort, view.as],
  )
  const rows = useRows(info.table, request, view.from)
  const edits = useEdits(info, () => {
    ticked.clear()
    rows.refetch()
  })
  useNewColumns(info, rows.columns)
  const { changes, setChanges } = edits
  const columns = useMemo(() => gridColumns(info, view), [info, view])
  const [isEditing, setEditing] = useState(false)
  const live = useLive({
    info,
    request,
    isOn: isLive,
    isHeld: isEditing || edits.isApplying || rows.isFetching,
    created: changes.created.length,
  })
  const { marked } = live
  const model = useMemo(
    () => createModel(rows.columns ?? [], rows.rows ?? [], changes, marked),
    [rows.columns, rows.rows, changes, marked],
  )
  const isWritable = info.isWritable && info.primaryKey.length > 0 && view.as === undefined
  const editing = useCellEditing({ info, model, columns, isWritable, changes, setChanges })
  const ticked = useTicked(model)
  const sort = useMemo(() => parseSort(view.sort), [view.sort])
  const grid = useRef<HTMLDivElement>(null)
  const focusGrid = () => grid.current?.querySelector<HTMLElement>('[role=grid]')?.focus()

  const commit = (opened: Opened, value: string | null, move: Move) => {
    editing.commit(opened, value)
    focusGrid()
    const by = { stay: [0, 0], down: [1, 0], right: [0, 1], left: [0, -1] }[move]
    const focus = { row: opened.row + (by[0] ?? 0), column: opened.column + (by[1] ?? 0) }
    setSelection({ anchor: focus, focus })
  }
  const markDeleted = (isDeleted: boolean) => {
    const marked = ticked.indexes().flatMap((index) => model.row(index) ?? [])
    setChanges(
      marked.reduce(
        (next, shown) =>
          shown.kind === 'new' ? dropNew(next, shown.row.id) : deleteRow(next, shown.row, isDeleted),
        changes,
      ),
    )
  }
  const copied = () => {
    if (ticked.keys.size > 0) {
      const cells = ticked.indexes().map((index) => columns.map((column) => model.cell(index, column).text))
      return { columns, cells }
    }
    const range = rangeOf(selection)
    const cells = cellsOf({ columns, cell: model.cell }, range)
    return { columns: columns.slice(range.left, range.right + 1), cells }
  }
  const { opened } = editing
  // A cell that is edited is known by its place.
  useEffect(() => setEditing(opened !== undefined), [opened])
  return (
    <>
      <TableHeading
        info={info}
        view={view}
        columns={columns.map(({ key }) => key)}
        isWritable={isWritable}
        live={isLive ? live.state : undefined}
        onLive={setLive}
        onView={changeView}
        onNew={() => setAdded({})}
        onWritten={rows.refetch}
      />
      <FilterBar info={info} view={view} onChange={changeView} />
      <StagedBar info={info} edits={edits} />
      <RowsNotice rows={rows} onSortByKey={() => changeView({ sort: '', filter: view.filter })} />
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
          onSelect={setSelection}
          onSort={(column, isAdded) =>
            changeView({ sort: formatSort(toggleSort(sort, column.key, isAdded)) })
          }
          onResize={(column, width) => changeView({ width: [column.key, width] })}
          onMove={(column, target) => {
            const names = columns.map(({ key }) => key).filter((key) => key !== column.key)
            changeView({ order: names.toSpliced(names.indexOf(target.key), 0, column.key) })
          }}
          ticked={ticked.keys}
          onTick={ticked.toggle}
          onTickAll={ticked.toggleAll}
          onOpenRow={(index) => {
            const shown = model.row(index)
            if (shown?.kind === 'read' && shown.id !== undefined)
              changeView({ row: shown.id }, { replace: false })
          }}
          onReachEnd={rows.loadNext}
          onView={live.onView}
          onEdit={editing.open}
          editing={opened?.isInline === true ? opened : undefined}
          editor={
            opened?.isInline === true && (
              <CellEditor
                key={`${opened.row} ${opened.column}`}
                column={opened.info}
                value={opened.value ?? null}
                typed={opened.typed}
                onCommit={(value, move) => commit(opened, value, move)}
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
            rows.rows === undefined
              ? emptyOf(rows)
              : view.filter === ''
                ? 'The table has no rows.'
                : 'No row matches the filter.'
          }
        />
      </div>
      <StatusBar info={info} request={request} rows={rows}>
        <TickedActions ticked={ticked} onMarkDeleted={isWritable ? markDeleted : undefined} />
        <CopyMenu table={info} copied={copied} />
      </StatusBar>
      {opened !== undefined && !opened.isInline && (
        <LargeEditor
          info={info}
          opened={opened}
          isReadOnly={!isWritable}
          onCommit={(value) => commit(opened, value, 'stay')}
          onClose={editing.close}
        />
      )}
      {edits.conflict !== undefined && (
        <ConflictDialog conflict={edits.conflict} onDecide={edits.decide} onClose={edits.postpone} />
      )}
      {added !== undefined && (
        <NewRow
          info={info}
          initial={added}
          onClose={() => setAdded(undefined)}
          onAdd={(values) => {
            setChanges(addRow(changes, values))
            setAdded(undefined)
          }}
        />
      )}
      {view.row !== undefined && added === undefined && (
        <RowPanel
          key={view.row}
          info={info}
          rowId={view.row}
          as={view.as}
          onEdit={isWritable ? editing.openOf : undefined}
          onDelete={isWritable ? (row) => setChanges(deleteRow(changes, row, true)) : undefined}
          onDuplicate={isWritable ? (row) => setAdded(duplicateOf(info, row.cells)) : undefined}
          onClose={() => changeView({ row: undefined })}
        />
      )}
    </>
  )
}

/** While there are no rows; the notice above has a failure and its cause. */
const emptyOf = ({ isFetching, error }: Rows) =>
  isFetching || error === null ? 'Loading…' : 'No rows were read.'

/** Keys and what PostgreSQL computes are made anew. */
function duplicateOf({ columns }: TableInfo, cells: readonly (string | null)[]) {
  return Object.fromEntries(
    columns.flatMap(({ name, isPrimaryKey, isGenerated }, index) =>
      isPrimaryKey || isGenerated === true ? [] : [[name, cells[index] ?? null]],
    ),
  )
}
