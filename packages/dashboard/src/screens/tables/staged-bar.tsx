import { Button } from '../../ui/button.tsx'
import { countOf } from '../../ui/format.ts'
import type { TableInfo } from './api.ts'
import styles from './tables.module.css'
import { lostByUndo } from './undo.ts'
import type { Edits } from './use-edits.ts'

/** Shows the staged changes. */
export function StagedBar({ info, edits }: { readonly info: TableInfo; readonly edits: Edits }) {
  const { changes, count, isApplying } = edits
  if (count === 0) return null
  const deleted = [...changes.rows.values()].filter(({ isDeleted }) => isDeleted).length
  const isReferred = info.relations.some(({ kind }) => kind === 'one-to-many')
  const parts = [
    [changes.created.length, 'new'],
    [changes.rows.size - deleted, 'edited'],
    [deleted, 'to delete'],
  ] as const
  const faults = [...changes.rows.values(), ...changes.created].flatMap(({ fault }) => fault ?? [])
  return (
    <div className={styles.staged} role="status">
      <span>
        {countOf(count, 'row')} staged, not yet written:{' '}
        {parts.flatMap(([number, what]) => (number === 0 ? [] : `${number} ${what}`)).join(', ')}.
        {faults[0] !== undefined && ` Refused: ${faults[0]}`}
        {deleted > 0 && isReferred && ` ${lostByUndo}`}
      </span>
      <Button size="small" onClick={edits.discard} disabled={isApplying}>
        Discard
      </Button>
      <Button size="small" variant="primary" isPending={isApplying} onClick={edits.apply}>
        Apply
      </Button>
    </div>
  )
}
