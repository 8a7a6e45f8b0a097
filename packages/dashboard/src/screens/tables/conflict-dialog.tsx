import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import type { Conflict } from './edit-writer.ts'
import styles from './tables.module.css'

interface ConflictDialogProps {
  readonly conflict: Conflict
  readonly onDecide: (keepsMine: boolean) => void
  readonly onClose: () => void
}

/** Shows a conflict: the row as it was read, the current row, and the staged change. Nothing has been written yet. */
export function ConflictDialog({ conflict, onDecide, onClose }: ConflictDialogProps) {
  const { change, present, columns } = conflict
  const rows = columns.flatMap((name, index) => {
    const before = change.row.cells[index] ?? null
    const now = present?.cells[index] ?? null
    const isMine = name in change.values
    const differs = present !== null && before !== now
    return isMine || differs
      ? [{ name, before, now, mine: isMine ? (change.values[name] ?? null) : before, differs }]
      : []
  })
  return (
    <Dialog
      title={`Row ${change.row.key?.join(', ')} has changed`}
      isOpen
      size="wide"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Decide later</Button>
          <Button onClick={() => onDecide(false)}>Drop my change</Button>
          {present !== null && (
            <Button variant="primary" onClick={() => onDecide(true)}>
              {change.isDeleted ? 'Delete it anyway' : 'Overwrite with my change'}
            </Button>
          )}
        </>
      }
    >
      {present === null ? (
        <p>The row was deleted after you read it. Your change cannot be written.</p>
      ) : (
        <p>Another request has changed this row after you read it. Your changes have not been written.</p>
      )}
      <table className={styles.compare}>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">When read</th>
            <th scope="col">Now</th>
            <th scope="col">Your change</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, before, now, mine, differs }) => (
            <tr key={name} data-differs={differs || undefined}>
              <th scope="row">{name}</th>
              <td>{shown(before)}</td>
              <td>{present === null ? '–' : shown(now)}</td>
              <td>{change.isDeleted ? 'deleted' : shown(mine)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  )
}

const shown = (value: string | null) => (value === null ? 'NULL' : value)
