import type { TableInfo } from './api.ts'
import { addRow, deleteRow, type NewRow as StagedRow } from './changes.ts'
import { ConflictDialog } from './conflict-dialog.tsx'
import { LargeEditor } from './large-editor.tsx'
import { NewRow } from './new-row.tsx'
import type { PickedValues } from './reference-picker.tsx'
import { RowPanel } from './row-panel.tsx'
import type { OpenCell } from './use-cell-editing.ts'
import type { Table } from './use-table.ts'

interface Props {
  readonly table: Table
  /** Values of the row that is being added. */
  readonly added: StagedRow['values'] | undefined
  readonly onAdd: (values: StagedRow['values'] | undefined) => void
  /** Stages the values of a large cell. */
  readonly onCommit: (cell: OpenCell, values: PickedValues) => void
}

/** Renders the dialogs and panels of a table: a large cell, a conflict, a new row, one row. */
export function TableDialogs({ table, added, onAdd, onCommit }: Props) {
  const { info, view, changeView, edits, isWritable, editing } = table
  const { changes, setChanges, conflict } = edits
  const { opened } = editing
  return (
    <>
      {opened !== undefined && !opened.isInline && (
        <LargeEditor
          info={info}
          opened={opened}
          isReadOnly={!isWritable}
          onCommit={(values) => onCommit(opened, values)}
          onClose={editing.close}
        />
      )}
      {conflict !== undefined && (
        <ConflictDialog conflict={conflict} onDecide={edits.decide} onClose={edits.postpone} />
      )}
      {added !== undefined && (
        <NewRow
          info={info}
          initial={added}
          onClose={() => onAdd(undefined)}
          onAdd={(values) => {
            setChanges(addRow(changes, values))
            onAdd(undefined)
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
          onDuplicate={isWritable ? (row) => onAdd(duplicateOf(info, row.cells)) : undefined}
          onClose={() => changeView({ row: undefined })}
        />
      )}
    </>
  )
}

/** Copies a row without keys and computed columns. */
function duplicateOf({ columns }: TableInfo, cells: readonly (string | null)[]) {
  return Object.fromEntries(
    columns.flatMap(({ name, isPrimaryKey, isGenerated }, index) =>
      isPrimaryKey || isGenerated === true ? [] : [[name, cells[index] ?? null]],
    ),
  )
}
