import { isBasaltError } from '@basaltdb/client'
import { useCallback, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { randomId } from '../../api/random-id.ts'
import { countOf } from '../../ui/format.ts'
import { showToast } from '../../ui/toasts.ts'
import { applyChanges, readRows, type TableInfo, type TableRow } from './api.ts'
import {
  type Changes,
  countChanges,
  noChanges,
  type PlannedOperation,
  planOperations,
  putRow,
  type RowChange,
} from './changes.ts'
import { undoAction, type Written } from './undo.ts'

/** A row that another request has changed since it was read. */
export interface Conflict {
  readonly id: string
  readonly change: RowChange
  /** As it is now; null when it was deleted. */
  readonly present: TableRow | null
  readonly columns: readonly string[]
}

/** What was sent without an answer. Sent once more as it is, it has the key under which the server may have done it. */
interface Unanswered {
  readonly content: string
  readonly key: string
}

function keyOf(before: Unanswered | undefined, operations: unknown): Unanswered {
  const content = JSON.stringify(operations)
  return before?.content === content ? before : { content, key: randomId() }
}

/** By table, so that what is staged stays while another view is shown. */
const kept = new Map<string, Changes>()
/** By table, too: what is staged may have been written already. */
const unanswered = new Map<string, Unanswered>()

/** Whether the changes may have been written, or still may be. */
function isInDoubt(error: unknown): boolean {
  if (!isBasaltError(error)) return true
  return [0, 502, 503, 504].includes(error.status) || error.error === 'idempotency_key_in_use'
}

addEventListener('beforeunload', (event) => {
  if (kept.size > 0) event.preventDefault()
})

/** What is staged in the grid, and how it is written. */
export function useEdits(info: TableInfo, onWritten: () => void) {
  const [changes, setShown] = useState<Changes>(kept.get(info.table) ?? noChanges)
  const setChanges = useCallback(
    (next: Changes) => {
      if (countChanges(next) === 0) kept.delete(info.table)
      else kept.set(info.table, next)
      setShown(next)
    },
    [info.table],
  )
  const [conflict, setConflict] = useState<Conflict>()
  const [isApplying, setApplying] = useState(false)
  const types = new Map(info.columns.map(({ name, type }) => [name, type]))

  async function apply(staged: Changes): Promise<void> {
    setApplying(true)
    let current = staged
    try {
      // Each round finds at most one row whose version has moved on without a conflict.
      for (let round = 0; round <= staged.rows.size; round += 1) {
        const planned = planOperations(current, types)
        if (planned.length === 0) return
        try {
          const operations = planned.map(({ operation }) => operation)
          const key = keyOf(unanswered.get(info.table), operations)
          unanswered.set(info.table, key)
          const written = await inSession(() => applyChanges(info.table, operations, key.key))
          unanswered.delete(info.table)
          report(planned, written)
          return
        } catch (error) {
          if (!isInDoubt(error)) unanswered.delete(info.table)
          const next = await resolve(current, planned, error)
          if (next === undefined) return
          current = next
        }
      }
    } catch (error) {
      showToast(error instanceof Error ? error.message : String(error), 'failure')
    } finally {
      setApplying(false)
    }
  }

  function report(planned: readonly PlannedOperation[], written: readonly Written[]): void {
    setChanges(noChanges)
    onWritten()
    const undo = undoAction(info, planned, written, onWritten)
    showToast(`${countOf(planned.length, 'change')} written.`, 'done', undo)
  }

  /** The changes to try again with; undefined when a person has to decide. */
  async function resolve(
    current: Changes,
    planned: readonly PlannedOperation[],
    error: unknown,
  ): Promise<Changes | undefined> {
    if (!isBasaltError(error) || error.operation === undefined) throw error
    const of = planned[error.operation.index]?.of
    if (of === undefined) throw error
    if (error.error !== 'record_changed' || !('id' in of)) {
      setChanges(withFault(current, of, error.message))
      throw error
    }
    const change = current.rows.get(of.id)
    if (change === undefined) throw error
    const page = await inSession(() => readRows(info.table, { id: of.id }))
    const present = page.rows[0] ?? null
    if (present !== null && !isAffected(change, present, page.columns)) {
      const next = putRow(current, of.id, { ...change, present })
      setChanges(next)
      return next
    }
    setChanges(putRow(current, of.id, { ...change, present }))
    setConflict({ id: of.id, change, present, columns: page.columns })
    return undefined
  }

  return {
    changes,
    setChanges,
    count: countChanges(changes),
    isApplying,
    conflict,
    apply: () => void apply(changes),
    discard: () => setChanges(noChanges),
    /** Writes the change over the row as it is now, or drops it. */
    decide(keepsMine: boolean) {
      if (conflict === undefined) return
      const { id, change, present } = conflict
      setConflict(undefined)
      const rows = new Map(changes.rows)
      if (keepsMine && present !== null) rows.set(id, { ...change, present })
      else rows.delete(id)
      const next = { ...changes, rows }
      setChanges(next)
      void apply(next)
    },
    postpone: () => setConflict(undefined),
  }
}

export type Edits = ReturnType<typeof useEdits>

/** Whether the other change touched what this one is about: any of its cells, and all of a row that is deleted. */
function isAffected(
  { row, values, isDeleted }: RowChange,
  present: TableRow,
  columns: readonly string[],
): boolean {
  return columns.some(
    (name, index) => (isDeleted || name in values) && present.cells[index] !== row.cells[index],
  )
}

function withFault(changes: Changes, of: PlannedOperation['of'], fault: string): Changes {
  if ('created' in of) {
    const created = changes.created.map((row) => (row.id === of.created ? { ...row, fault } : row))
    return { ...changes, created }
  }
  const change = changes.rows.get(of.id)
  if (change === undefined) return changes
  return { ...changes, rows: new Map(changes.rows).set(of.id, { ...change, fault }) }
}
