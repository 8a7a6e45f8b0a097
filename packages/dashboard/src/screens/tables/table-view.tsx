import { useState } from 'react'
import { cellsOf } from '../../grid/grid.tsx'
import type { Selection } from '../../grid/model.ts'
import { rangeOf } from '../../grid/selection.ts'
import type { TableInfo } from './api.ts'
import { deleteRow, dropNew, type NewRow } from './changes.ts'
import { CopyMenu } from './copy-menu.tsx'
import { FilterBar } from './filter-bar.tsx'
import { RowsNotice } from './rows-notice.tsx'
import { StagedBar } from './staged-bar.tsx'
import { StatusBar } from './status-bar.tsx'
import { TableDialogs } from './table-dialogs.tsx'
import { TableGrid, useCommit } from './table-grid.tsx'
import { TableHeading } from './table-heading.tsx'
import { TickedActions } from './ticked-actions.tsx'
import { type Table, useTable } from './use-table.ts'
import { tickedIndexes } from './use-ticked.ts'

const start: Selection = { anchor: { row: 0, column: 0 }, focus: { row: 0, column: 0 } }

/** Shows the rows of a table with all actions. */
export function TableView({ info }: { readonly info: TableInfo }) {
  const table = useTable(info)
  const { view, changeView, rows, ticked, edits, columns, isWritable } = table
  const [selection, setSelection] = useState(start)
  const committing = useCommit(table, setSelection)
  const [added, setAdded] = useState<NewRow['values']>()
  return (
    <>
      <TableHeading
        info={info}
        view={view}
        columns={columns.map(({ key }) => key)}
        isWritable={isWritable}
        live={table.isLive ? table.live.state : undefined}
        onLive={table.setLive}
        onView={changeView}
        onNew={() => setAdded({})}
        onWritten={rows.refetch}
      />
      <FilterBar info={info} view={view} onChange={changeView} />
      <StagedBar info={info} edits={edits} />
      <RowsNotice rows={rows} onSortByKey={() => changeView({ sort: '', filter: view.filter })} />
      <TableGrid table={table} selection={selection} onSelect={setSelection} committing={committing} />
      <StatusBar info={info} request={table.request} rows={rows}>
        <TickedActions
          ticked={ticked}
          onMarkDeleted={isWritable ? (isDeleted) => markTicked(table, isDeleted) : undefined}
        />
        <CopyMenu table={info} copied={() => copiedCells(table, selection)} />
      </StatusBar>
      <TableDialogs
        table={table}
        added={added}
        onAdd={setAdded}
        onCommit={(cell, values) => committing.commit(cell, values, 'stay')}
      />
    </>
  )
}

/** Stages the deletion of ticked rows, or removes it. */
function markTicked({ model, ticked, edits }: Table, isDeleted: boolean): void {
  const marked = tickedIndexes(model, ticked.keys).flatMap((index) => model.row(index) ?? [])
  edits.setChanges(
    marked.reduce(
      (next, shown) =>
        shown.kind === 'new' ? dropNew(next, shown.row.id) : deleteRow(next, shown.row, isDeleted),
      edits.changes,
    ),
  )
}

/** Returns the cells of ticked rows, or those of the selection if no row is ticked. */
function copiedCells({ model, columns, ticked }: Table, selection: Selection) {
  if (ticked.keys.size > 0) {
    const indexes = tickedIndexes(model, ticked.keys)
    return {
      columns,
      cells: indexes.map((index) => columns.map((column) => model.cell(index, column).text)),
    }
  }
  const range = rangeOf(selection)
  const cells = cellsOf({ columns, cell: model.cell }, range)
  return { columns: columns.slice(range.left, range.right + 1), cells }
}
