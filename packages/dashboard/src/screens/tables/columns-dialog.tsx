import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { formatNumber } from '../../ui/format.ts'
import { FilterField } from '../../ui/layout.tsx'
import type { ColumnInfo } from './api.ts'
import styles from './tables.module.css'
import type { View, ViewChange } from './use-view.ts'

interface ColumnsDialogProps {
  /** All columns, in the order of the view. */
  readonly columns: readonly ColumnInfo[]
  readonly view: View
  readonly onChange: (change: ViewChange) => void
  readonly onClose: () => void
}

/** Maximum number of listed columns. Others are found by name, as PostgreSQL allows 1,600. */
const listed = 100

/** Selects, pins and orders columns by keyboard, as the mouse does in the header. */
export function ColumnsDialog({ columns, view, onChange, onClose }: ColumnsDialogProps) {
  const [search, setSearch] = useState('')
  const names = columns.map(({ name }) => name)
  const found = names.filter((name) => name.toLowerCase().includes(search.toLowerCase()))
  const toggle = (list: readonly string[], name: string) =>
    list.includes(name) ? list.filter((each) => each !== name) : [...list, name]
  const move = (name: string, by: number) => {
    const index = names.indexOf(name)
    const order = names.toSpliced(index, 1)
    onChange({ order: order.toSpliced(Math.max(0, index + by), 0, name) })
  }
  return (
    <Dialog
      title="Columns"
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={() => onChange({ hidden: [], order: [], pinned: [] })}>Reset</Button>
          <Button onClick={() => onChange({ hidden: names })}>Hide all</Button>
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      {names.length > listed && <FilterField label="Find a column" value={search} onChange={setSearch} />}
      <ul className={styles.columns}>
        {found.slice(0, listed).map((name) => (
          <li key={name}>
            <Checkbox
              label={name}
              checked={!view.hidden.includes(name)}
              onChange={() => onChange({ hidden: toggle(view.hidden, name) })}
            />
            <Checkbox
              label="Pinned"
              aria-label={`Pin ${name}`}
              checked={view.pinned.includes(name)}
              onChange={() => onChange({ pinned: toggle(view.pinned, name) })}
            />
            <Button
              size="small"
              aria-label={`Move ${name} up`}
              disabled={name === names[0]}
              onClick={() => move(name, -1)}
            >
              ↑
            </Button>
            <Button
              size="small"
              aria-label={`Move ${name} down`}
              disabled={name === names.at(-1)}
              onClick={() => move(name, 1)}
            >
              ↓
            </Button>
          </li>
        ))}
      </ul>
      {found.length > listed && (
        <p className={styles.hint}>
          Showing {formatNumber(listed)} of {formatNumber(found.length)}. Search to find the others.
        </p>
      )}
    </Dialog>
  )
}
