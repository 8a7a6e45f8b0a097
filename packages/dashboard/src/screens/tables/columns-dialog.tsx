import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import type { ColumnInfo } from './api.ts'
import styles from './tables.module.css'
import type { View, ViewChange } from './use-view.ts'

interface ColumnsDialogProps {
  /** All of them, in the order of the view. */
  readonly columns: readonly ColumnInfo[]
  readonly view: View
  readonly onChange: (change: ViewChange) => void
  readonly onClose: () => void
}

/** Which columns are shown, pinned, and in which order: what the mouse does in the header, by keyboard. */
export function ColumnsDialog({ columns, view, onChange, onClose }: ColumnsDialogProps) {
  const names = columns.map(({ name }) => name)
  const toggle = (list: readonly string[], name: string) =>
    list.includes(name) ? list.filter((each) => each !== name) : [...list, name]
  const move = (name: string, by: number) => {
    const place = names.indexOf(name)
    const order = names.toSpliced(place, 1)
    onChange({ order: order.toSpliced(Math.max(0, place + by), 0, name) })
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
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <ul className={styles.columns}>
        {columns.map(({ name }, index) => (
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
              disabled={index === 0}
              onClick={() => move(name, -1)}
            >
              ↑
            </Button>
            <Button
              size="small"
              aria-label={`Move ${name} down`}
              disabled={index === columns.length - 1}
              onClick={() => move(name, 1)}
            >
              ↓
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
