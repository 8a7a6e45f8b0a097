import { isBasaltError, randomId } from '@basaltdb/client'
import { useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { useStore } from '../../api/store.ts'
import { countOf } from '../../ui/format.ts'
import { showToast } from '../../ui/toasts.ts'
import { applyChanges, readRows, type TableInfo, type TableRow, type Written } from './api.ts'
import {
  type Changes,
  countChanges,
  dropRow,
  noChanges,
  type PlannedOperation,
  planOperations,
  putRow,
  type RowChange,
} from './changes.ts'
import { remainderOf, withoutSent } from './remainder.ts'
import { applyingOf, stagedOf } from './staged.ts'
import { idOfRecord, undoAction } from './undo.ts'

/** A row that another request has changed since it was read. */
export interface Conflict {
  readonly id: string
  readonly change: RowChange
  /** As it is now; null when it was deleted. */
  readonly present: TableRow | null
  readonly columns: readonly string[]
}

/** What was sent without an answer. It is sent once more as it was, by the key under which the server may have done it. */
interface Unanswered {
  readonly sent: Changes
  readonly key: string
}

/** By table: what is staged may have been written already. */
const unanswered = new Map<string, Unanswered>()

/** Whether the changes may have been written, or still may be. */
function isInDoubt(error: unknown): boolean {
  if (!isBasaltError(error)) return true
  return [0, 502, 503, 504].includes(error.status) || error.error === 'idempotency_key_in_use'
}

/** What is staged in the grid, and how it is written. */
export function useEdits(info: TableInfo, onWritten: () => void) {
  const staged = stagedOf(info.table)
  const changes = useStore(staged)
  const applying = applyingOf(info.table)
  const isApplying = useStore(applying)
  const [conflict, setConflict] = useState<Conflict>()
  const types = new Map(info.columns.map(({ name, type }) => [name, type]))

  /** Cells may be edited meanwhile: what is staged is read again after each answer. */
  async function apply(): Promise<void> {
    // In another view of the table, too.
    if (applying.get()) return
    applying.set(true)
    let current = unanswered.get(info.table)?.sent ?? staged.get()
    try {
      // Each round finds at most one row whose version has moved on without a conflict.
      for (let round = 0; round <= current.rows.size; round += 1) {
        const planned = planOperations(current, types)
        if (planned.length === 0) return
        try {
          const operations = planned.map(({ operation }) => operation)
          const before = unanswered.get(info.table)
          const key = before?.sent === current ? before.key : randomId()
          unanswered.set(info.table, { sent: current, key })
          const written = await inSession(() => applyChanges(info.table, operations, key))
          await takeAway(current, planned, written)
          unanswered.delete(info.table)
          onWritten()
          const undo = undoAction(info, planned, written, onWritten)
          showToast(`${countOf(planned.length, 'change')} written.`, 'done', undo)
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
      applying.set(false)
    }
  }

  /** What was written is staged no more. What was edited meanwhile is, on top of the rows as they are now. */
  async function takeAway(
    sent: Changes,
    planned: readonly PlannedOperation[],
    written: readonly Written[],
  ): Promise<void> {
    const columns = info.columns.map(({ name }) => name)
    const answers = new Map(
      written.flatMap(({ index, body, version = null }) => {
        const of = planned[index]?.of
        if (of === undefined || body === undefined) return []
        const key = info.primaryKey.map((name) => String(body[name]))
        return [['id' in of ? of.id : of.created, { id: idOfRecord(info, body), key, version }] as const]
      }),
    )
    const present = new Map<string | number, TableRow>()
    for (;;) {
      const remainder = remainderOf(staged.get(), sent, columns)
      const missing = [...remainder.keys()].find((key) => !present.has(key) && answers.has(key))
      if (missing === undefined) return staged.set(withoutSent(staged.get(), sent, remainder, present))
      const { id, key, version } = answers.get(missing) ?? {}
      answers.delete(missing)
      const page = await inSession(() => readRows(info.table, { id })).catch(() => undefined)
      const row = page?.rows[0]
      const before = typeof missing === 'string' ? sent.rows.get(missing) : undefined
      if (before === undefined) {
        if (key !== undefined) present.set(missing, row ?? { key, version: version ?? null, cells: [] })
      } else if (row !== undefined && row.version === version && !isMoved(before, row, columns)) {
        present.set(missing, row)
      }
    }
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
      staged.set(withFault(staged.get(), of, error.message))
      throw error
    }
    const change = current.rows.get(of.id)
    if (change === undefined) throw error
    const page = await inSession(() => readRows(info.table, { id: of.id }))
    const present = page.rows[0] ?? null
    if (present !== null && !isAffected(change, present, page.columns)) {
      notePresent(of.id, present)
      return putRow(current, of.id, { ...change, present })
    }
    // A row that exists keeps the version that was read until a person has decided.
    if (present === null) notePresent(of.id, null)
    setConflict({ id: of.id, change, present, columns: page.columns })
    return undefined
  }

  function notePresent(id: string, present: TableRow | null): void {
    const change = staged.get().rows.get(id)
    if (change !== undefined) staged.set(putRow(staged.get(), id, { ...change, present }))
  }

  return {
    changes,
    setChanges: staged.set,
    count: countChanges(changes),
    isApplying,
    conflict,
    apply: () => void apply(),
    discard() {
      unanswered.delete(info.table)
      staged.set(noChanges)
    },
    /** Writes the change over the row as it is now, or drops it. */
    decide(keepsMine: boolean) {
      if (conflict === undefined) return
      const { id, present } = conflict
      setConflict(undefined)
      if (keepsMine && present !== null) notePresent(id, present)
      else staged.set(dropRow(staged.get(), id))
      void apply()
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

/** Whether another request has written cells that were not sent; those that are edited by now may be among them. */
const isMoved = ({ row, values }: RowChange, present: TableRow, columns: readonly string[]): boolean =>
  columns.some((name, index) => !(name in values) && present.cells[index] !== row.cells[index])

function withFault(changes: Changes, of: PlannedOperation['of'], fault: string): Changes {
  if ('created' in of) {
    const created = changes.created.map((row) => (row.id === of.created ? { ...row, fault } : row))
    return { ...changes, created }
  }
  const change = changes.rows.get(of.id)
  if (change === undefined) return changes
  return { ...changes, rows: new Map(changes.rows).set(of.id, { ...change, fault }) }
}
