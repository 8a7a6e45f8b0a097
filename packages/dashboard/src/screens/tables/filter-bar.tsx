import { useEffect, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/layout.tsx'
import type { TableInfo } from './api.ts'
import { kindOf } from './kinds.ts'
import { andFilter, formatCondition, parseSort, type SortTerm, type Test } from './names.ts'
import { SortDialog } from './sort-dialog.tsx'
import styles from './tables.module.css'
import type { View, ViewChange } from './use-view.ts'
import { FormValue } from './value-editor.tsx'

interface FilterBarProps {
  readonly info: TableInfo
  readonly view: View
  readonly onChange: (change: ViewChange) => void
}

/** Renders the filter in API syntax, a builder for conditions, and a field to jump to a value. */
export function FilterBar({ info, view, onChange }: FilterBarProps) {
  const [text, setText] = useState(view.filter)
  const [isBuilding, setBuilding] = useState(false)
  const [from, setFrom] = useState(view.from ?? '')
  useEffect(() => setText(view.filter), [view.filter])
  useEffect(() => setFrom(view.from ?? ''), [view.from])
  const [isSorting, setSorting] = useState(false)
  const sort = parseSort(view.sort)
  // Rows have no value of a related record to jump to.
  const first =
    sort[0] === undefined ? info.primaryKey[0] : sort[0].path === undefined ? sort[0].key : undefined
  return (
    <search className={styles.filters}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onChange({ filter: text })
        }}
      >
        <TextField
          label="Filter"
          hidesLabel
          isCode
          data-filter
          placeholder="Filter: status = 'open' and created_at > '2026-01-01'"
          value={text}
          onChange={setText}
        />
        <Button type="submit">Apply</Button>
        {view.filter !== '' && <Button onClick={() => onChange({ filter: '' })}>Clear</Button>}
        <Button onClick={() => setBuilding(true)}>Add condition</Button>
        <Button onClick={() => setSorting(true)}>
          {sort.length === 0 ? 'Sort' : `Sort: ${sortText(sort)}`}
        </Button>
      </form>
      {first !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            onChange({ from: from === '' ? undefined : from })
          }}
        >
          <TextField
            label={`Jump to a value of ${first}`}
            hidesLabel
            placeholder={`Jump to ${first}`}
            value={from}
            onChange={setFrom}
          />
          <Button type="submit">Jump</Button>
        </form>
      )}
      {isSorting && (
        <SortDialog info={info} view={view} onChange={onChange} onClose={() => setSorting(false)} />
      )}
      {isBuilding && (
        <ConditionDialog
          info={info}
          onClose={() => setBuilding(false)}
          onAdd={(condition) => {
            setBuilding(false)
            onChange({ filter: andFilter(view.filter, condition) })
          }}
        />
      )}
    </search>
  )
}

/** Returns a sort as in the headers of the grid, which has no header for a related column. */
const sortText = (sort: readonly SortTerm[]) =>
  sort.map(({ key, isDescending }) => `${key} ${isDescending ? '▾' : '▴'}`).join(', ')

const testNames: Readonly<Record<Test, string>> = {
  '=': 'is',
  '!=': 'is not',
  contains: 'contains',
  starts: 'starts with',
  has: 'has',
  overlaps: 'overlaps',
  '<': 'is less than',
  '<=': 'is at most',
  '>': 'is greater than',
  '>=': 'is at least',
  null: 'is NULL',
  'not null': 'is not NULL',
}

function ConditionDialog({
  info,
  onAdd,
  onClose,
}: {
  readonly info: TableInfo
  readonly onAdd: (condition: string) => void
  readonly onClose: () => void
}) {
  const [name, setName] = useState(info.columns[0]?.name)
  const [chosen, setTest] = useState<Test>('=')
  const [value, setValue] = useState('')
  const column = info.columns.find((each) => each.name === name)
  if (column === undefined) return null
  const { filter } = kindOf(column)
  const test = filter.includes(chosen) ? chosen : (filter[0] ?? 'null')
  return (
    <Dialog
      title="Add a condition"
      isOpen
      size="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form="condition">
            Add
          </Button>
        </>
      }
    >
      <Form id="condition" onSubmit={() => onAdd(formatCondition(column.name, test, value))}>
        <Select
          label="Column"
          value={column.name}
          choices={info.columns.map((each) => ({ value: each.name, label: each.name }))}
          onChange={(next) => {
            setName(next)
            setValue('')
          }}
        />
        <Select
          label="Test"
          value={test}
          choices={filter.map((each) => ({ value: each, label: testNames[each] }))}
          onChange={setTest}
        />
        {/[<=>]/.test(test) && (
          <FormValue label="Value" column={column} text={value} empty="Select a value" onChange={setValue} />
        )}
        {/^[chos]/.test(test) && (
          <TextField label="Value" hint={hints[test]} value={value} onChange={setValue} />
        )}
      </Form>
    </Dialog>
  )
}

const hints: Readonly<Partial<Record<Test, string>>> = {
  has: 'An element of an array, a value in a range, or JSON such as {"a": 1}.',
  overlaps: 'A range such as [1,5).',
}
