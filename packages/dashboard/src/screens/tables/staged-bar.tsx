import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { countOf } from '../../ui/format.ts'
import { countRows, type RelationInfo, type TableInfo } from './api.ts'
import type { Changes } from './changes.ts'
import { equalFilter } from './names.ts'
import styles from './tables.module.css'
import { lostByUndo } from './undo.ts'
import type { Edits } from './use-edits.ts'

/** Shows the staged changes. */
export function StagedBar({ info, edits }: { readonly info: TableInfo; readonly edits: Edits }) {
  const { changes, count, isApplying } = edits
  if (count === 0) return null
  const deleted = [...changes.rows.values()].filter(({ isDeleted }) => isDeleted).length
  const cascades = info.relations.filter(
    ({ kind, constraint }) => kind === 'one-to-many' && info.cascades.includes(constraint),
  )
  const lost = lostByUndo(info)
  const parts = [
    [changes.created.length, 'new'],
    [changes.rows.size - deleted, 'edited'],
    [deleted, 'to delete'],
  ] as const
  const faults = [...changes.rows.values(), ...changes.created].flatMap(({ fault }) => fault?.message ?? [])
  return (
    <div className={styles.staged} role="status">
      <span>
        {countOf(count, 'row')} staged, not yet written:{' '}
        {parts.flatMap(([number, what]) => (number === 0 ? [] : `${number} ${what}`)).join(', ')}.
        {faults[0] !== undefined && ` Refused: ${faults[0]}`}
        {deleted > 0 && lost !== undefined && ` ${lost}`}
        {deleted > 0 &&
          cascades.map((relation) => (
            <Cascade key={relation.constraint} info={info} relation={relation} changes={changes} />
          ))}
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

/** Number up to which rows are counted, and number of deleted rows whose related rows are counted. */
const mostCounted = 1000
const mostDeleted = 50

interface CascadeProps {
  readonly info: TableInfo
  readonly relation: RelationInfo
  readonly changes: Changes
}

/** Shows the number of rows of another table that a foreign key deletes with the staged ones. */
function Cascade({ info: { columns }, relation: { table, pairs }, changes }: CascadeProps) {
  const names = columns.map(({ name }) => name)
  const deleted = [...changes.rows.values()].filter(({ isDeleted }) => isDeleted)
  const filter = deleted
    .slice(0, mostDeleted)
    .map(
      ({ row }) =>
        `(${equalFilter(pairs.map(({ from, to }) => [to, row.cells[names.indexOf(from)] ?? null]))})`,
    )
    .join(' or ')
  const { data } = useApi(['tables', table, 'cascade', filter], (signal) =>
    countRows(table, { filter, most: mostCounted }, signal),
  )
  if (data === undefined || data.count === 0) return null
  const isMore = data.isBounded || deleted.length > mostDeleted
  return ` Deletes ${isMore ? 'at least ' : ''}${countOf(data.count, 'row')} of ${table} with them.`
}
