import type { TableInfo } from './api.ts'
import { type PickedValues, ReferencePicker, sourceOf } from './reference-picker.tsx'
import type { OpenCell } from './use-cell-editing.ts'
import { ValueDialog } from './value-dialog.tsx'

interface LargeEditorProps {
  readonly info: TableInfo
  readonly opened: OpenCell
  readonly isReadOnly: boolean
  readonly onCommit: (values: PickedValues) => void
  readonly onClose: () => void
}

/** Edits a value in a dialog: a foreign key, or a value that does not fit into its cell. */
export function LargeEditor({ info, opened, isReadOnly, onCommit, onClose }: LargeEditorProps) {
  const { info: column, value, rowId } = opened
  if (!isReadOnly && sourceOf(info, column.name) !== undefined) {
    return (
      <ReferencePicker
        info={info}
        column={column}
        value={value ?? null}
        onPick={onCommit}
        onClose={onClose}
      />
    )
  }
  return (
    <ValueDialog
      table={info.table}
      rowId={rowId}
      column={column}
      value={value}
      isReadOnly={isReadOnly}
      onCommit={(next) => onCommit({ [column.name]: next })}
      onClose={onClose}
    />
  )
}
