import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FilterField } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type ColumnInfo, describeTable, type RelationInfo, readRows, type TableInfo } from './api.ts'
import { labelColumn } from './kinds.ts'
import { formatCondition, nameText } from './names.ts'

const offered = 30

interface ReferencePickerProps {
  readonly column: ColumnInfo
  readonly relation: RelationInfo
  readonly value: string | null
  readonly onPick: (value: string | null) => void
  readonly onClose: () => void
}

/** Selects a row of the table that a foreign key references, by its label or key. */
export function ReferencePicker({ column, relation, value, onPick, onClose }: ReferencePickerProps) {
  const [search, setSearch] = useState('')
  const [{ to = '' } = {}] = relation.pairs
  const rows = useApi(['tables', relation.table, 'choices', to, search], async (signal) => {
    const info = await describeTable(relation.table, signal)
    const label = labelColumn(info) ?? to
    const columns = [...new Set([to, label])]
    const page = await readRows(
      relation.table,
      {
        columns: columns.map(nameText).join(),
        limit: offered,
        filter: searchFilter(info, to, label, search),
      },
      signal,
    )
    return {
      label,
      rows: page.rows.map(({ cells }) => ({ key: cells[0] ?? '', text: cells.at(-1) ?? null })),
    }
  })
  return (
    <Dialog
      title={`${column.name}: select from ${relation.table}`}
      isOpen
      onClose={onClose}
      footer={
        <>
          {column.nullable && <Button onClick={() => onPick(null)}>Set to NULL</Button>}
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <FilterField label={`Search in ${relation.table}`} value={search} onChange={setSearch} autoFocus />
      <Loaded query={rows}>
        {({ label, rows: choices }) => (
          <DataTable
            caption={`Rows of ${relation.table}`}
            rows={choices}
            rowKey={(row) => row.key}
            selectedKey={value ?? undefined}
            empty="No rows match."
            columns={[
              { key: 'key', title: to, cell: (row) => row.key },
              { key: 'label', title: label, cell: (row) => row.text ?? 'NULL', isCut: true },
              {
                key: 'pick',
                title: '',
                align: 'end',
                cell: (row) => (
                  <Button size="small" aria-label={`Select ${row.key}`} onClick={() => onPick(row.key)}>
                    Select
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Dialog>
  )
}

/** Returns a filter by the start of the label, and by the key if the text can be one. */
function searchFilter(info: TableInfo, key: string, label: string, search: string): string | undefined {
  const text = search.trim()
  if (text === '') return undefined
  const type = info.columns.find(({ name }) => name === key)?.type ?? 'text'
  const byLabel = label === key ? [] : [formatCondition(label, 'contains', text)]
  const isKey = /int|serial/.test(type) ? /^-?\d{1,18}$/.test(text) : type === 'uuid' ? isUuid(text) : true
  const byKey = isKey ? [formatCondition(key, '=', text)] : []
  const terms = [...byLabel, ...byKey]
  return terms.length === 0 ? formatCondition(key, 'null', '') : terms.join(' or ')
}

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
