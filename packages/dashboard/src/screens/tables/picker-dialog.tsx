import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable, RowActions } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FilterField } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import type { ColumnInfo } from './api.ts'
import { idOf } from './names.ts'

/** Choices of a picker: the titles of both columns, and the rows with the values of their key. */
export interface Choices {
  readonly key: string
  readonly label: string
  readonly rows: readonly { readonly values: readonly string[]; readonly text: string | null }[]
}

interface PickerDialogProps {
  readonly column: ColumnInfo
  /** Source of the choices, such as the name of a table. */
  readonly source: string
  readonly value: string | null
  readonly search: (text: string, signal: AbortSignal) => Promise<Choices>
  readonly onPick: (values: readonly string[] | null, label: string | null) => void
  readonly onClose: () => void
}

/** Selects the value of a column among rows that a search finds by their label or key. */
export function PickerDialog({ column, source, value, search, onPick, onClose }: PickerDialogProps) {
  const [text, setText] = useState('')
  const choices = useApi(['tables', 'picker', source, column.name, text], (signal) => search(text, signal))
  return (
    <Dialog
      title={`${column.name}: select from ${source}`}
      isOpen
      onClose={onClose}
      footer={
        <>
          {column.nullable && <Button onClick={() => onPick(null, null)}>Set to NULL</Button>}
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <FilterField label={`Search in ${source}`} value={text} onChange={setText} autoFocus />
      <Loaded query={choices}>
        {({ key, label, rows }) => (
          <DataTable
            caption={`Rows of ${source}`}
            rows={rows}
            rowKey={({ values }) => idOf(values)}
            selectedKey={value ?? undefined}
            isFiltered
            columns={[
              [label, (row) => row.text ?? 'NULL', 'cut'],
              [key, ({ values }) => values.join(', '), 'cut', 'minor'],
              [
                '',
                (row) => (
                  <RowActions
                    of={row.values.join(', ')}
                    actions={[['Select', () => onPick(row.values, row.text)]]}
                  />
                ),
                'end',
              ],
            ]}
          />
        )}
      </Loaded>
    </Dialog>
  )
}
