import type { TableRow } from './api.ts'
import { type Changes, dropNew, dropRow, type RowChange, type Value } from './changes.ts'
import { idOf } from './names.ts'

/** Changes that were staged while others were in flight. Pure. */

/** Change of a row that has just been written. */
export interface Remainder {
  readonly values: RowChange['values']
  readonly isDeleted: boolean
}

/**
 * Returns the differences between the changes and the sent ones. The keys are the ids under which rows were sent, or the
 * numbers of new rows.
 */
export function remainderOf(
  changes: Changes,
  sent: Changes,
  columns: readonly string[],
): ReadonlyMap<string | number, Remainder> {
  const found = new Map<string | number, Remainder>()
  const note = (key: string | number, remainder: Remainder) => {
    if (remainder.isDeleted || Object.keys(remainder.values).length > 0) found.set(key, remainder)
  }
  for (const [id, before] of sent.rows) {
    if (before.isDeleted) continue
    const { values = {}, isDeleted = false } = changes.rows.get(id) ?? {}
    const asRead = Object.fromEntries(
      Object.keys(before.values).flatMap((name) => {
        const value = readValue(before.row, columns.indexOf(name))
        return value === undefined ? [] : [[name, value]]
      }),
    )
    note(id, { values: differenceOf(before.values, { ...asRead, ...values }), isDeleted })
  }
  for (const before of sent.created) {
    const after = changes.created.find(({ id }) => id === before.id)
    note(before.id, {
      values: differenceOf(before.values, after?.values ?? {}),
      isDeleted: after === undefined,
    })
  }
  return found
}

/**
 * Removes the sent changes.
 *
 * @param present current rows of the remainder. A missing row keeps its old tag, so writing it is a
 * conflict.
 */
export function withoutSent(
  changes: Changes,
  sent: Changes,
  remainder: ReadonlyMap<string | number, Remainder>,
  present: ReadonlyMap<string | number, TableRow>,
): Changes {
  let rest = changes
  for (const id of sent.rows.keys()) rest = dropRow(rest, id)
  for (const { id } of sent.created) rest = dropNew(rest, id)
  const rows = new Map(rest.rows)
  for (const [key, change] of remainder) {
    const row = present.get(key) ?? (typeof key === 'string' ? sent.rows.get(key)?.row : undefined)
    if (row?.key != null) rows.set(idOf(row.key), { row, ...change })
  }
  return { ...rest, rows }
}

/** Returns a cell value, or undefined if the grid has only its beginning. */
const readValue = ({ cells, sizes }: TableRow, index: number): Value =>
  sizes?.[index] === undefined ? (cells[index] ?? null) : undefined

const differenceOf = (before: RowChange['values'], after: RowChange['values']): RowChange['values'] =>
  Object.fromEntries(Object.entries(after).filter(([name, value]) => value !== before[name]))
