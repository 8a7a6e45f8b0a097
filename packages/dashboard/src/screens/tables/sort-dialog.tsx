import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { describeTable, type TableInfo } from './api.ts'
import { formatSort, parseSort, type SortTerm } from './names.ts'
import type { View, ViewChange } from './use-view.ts'

interface SortDialogProps {
  readonly info: TableInfo
  readonly view: View
  readonly onChange: (change: ViewChange) => void
  readonly onClose: () => void
}

/** Value of the choice of the table's own columns. A relation has no empty name. */
const own = ''

const directions = [
  { value: 'ascending', label: 'Ascending' },
  { value: 'descending', label: 'Descending' },
] as const

/** Sorts by a column of the table, or of a record that the rows refer to. */
export function SortDialog({ info, view, onChange, onClose }: SortDialogProps) {
  const relations = info.relations.filter(({ kind }) => kind === 'many-to-one')
  const [relation, setRelation] = useState(own)
  const target = relations.find(({ name }) => name === relation)?.table ?? info.table
  const described = useApi(['tables', target, 'columns'], (signal) => describeTable(target, signal))
  const columns = (target === info.table ? info : described.data)?.columns ?? []
  const [column, setColumn] = useState('')
  const [direction, setDirection] = useState<'ascending' | 'descending'>('ascending')
  const chosen = columns.some(({ name }) => name === column) ? column : (columns[0]?.name ?? '')
  const terms = parseSort(view.sort)
  const sort = (before: readonly SortTerm[]) => {
    const isDescending = direction === 'descending'
    const term: SortTerm =
      relation === own
        ? { key: chosen, isDescending }
        : { key: `${relation}.${chosen}`, path: [relation, chosen], isDescending }
    onChange({ sort: formatSort([...before.filter(({ key }) => key !== term.key), term]) })
    onClose()
  }
  return (
    <Dialog
      title="Sort"
      isOpen
      size="small"
      onClose={onClose}
      footer={
        <>
          <Button
            disabled={terms.length === 0}
            onClick={() => {
              onChange({ sort: '' })
              onClose()
            }}
          >
            By key
          </Button>
          <Button disabled={chosen === '' || terms.length === 0} onClick={() => sort(terms)}>
            Add
          </Button>
          <Button variant="primary" disabled={chosen === ''} onClick={() => sort([])}>
            Sort
          </Button>
        </>
      }
    >
      {relations.length > 0 && (
        <Select
          label="Records"
          value={relation}
          choices={[
            { value: own, label: info.table },
            ...relations.map(({ name, table }) => ({
              value: name,
              label: name === table ? `→ ${name}` : `→ ${name} (${table})`,
            })),
          ]}
          onChange={setRelation}
        />
      )}
      <Select
        label="Column"
        value={chosen}
        choices={columns.map(({ name }) => ({ value: name, label: name }))}
        onChange={setColumn}
      />
      <Select label="Order" value={direction} choices={directions} onChange={setDirection} />
    </Dialog>
  )
}
