import { type BasaltError, isBasaltError } from '@basaltdb/client'
import type { Store } from '../../api/store.ts'
import type { ChangeResult, Operation, readRows, TableInfo, TableRow } from './api.ts'
import {
  type Changes,
  dropRow,
  type Fault,
  noChanges,
  type PlannedOperation,
  planOperations,
  putRow,
  type RowChange,
} from './changes.ts'
import { idOfRecord } from './names.ts'
import { remainderOf, withoutSent } from './remainder.ts'

/** Conflict with another request that changed the row after it was read. */
export interface Conflict {
  readonly id: string
  readonly change: RowChange
  /** Current row; null if it was deleted. */
  readonly present: TableRow | null
  readonly columns: readonly string[]
}

/** Changes that were sent without a response. They are sent again unchanged, with the same idempotency key. */
interface PendingChanges {
  readonly sent: Changes
  readonly key: string
}

/** Changes without a response, by table. */
const pendingByTable = new Map<string, PendingChanges>()

/** Returns the index of the operation whose row was changed or deleted after it was read, if that is the error. */
export function changedOperation(error: unknown): number | undefined {
  const isChanged = isBasaltError(error, 'precondition_failed') || isBasaltError(error, 'record_not_found')
  return isChanged ? error.operation?.index : undefined
}

/** Returns true if the changes may have been written, or may still be written. */
function isInDoubt(error: unknown): boolean {
  if (!isBasaltError(error)) return true
  return [0, 502, 503, 504].includes(error.status) || error.error === 'idempotency_key_in_use'
}

/** Requests and callbacks of the writer. */
export interface EditPorts {
  /** Applies operations. @throws BasaltError of {@link changedOperation} if a row has changed since it was read */
  apply(operations: readonly Operation[], idempotencyKey: string): Promise<readonly ChangeResult[]>
  read(id: string | undefined): ReturnType<typeof readRows>
  createKey(): string
  onWritten(planned: readonly PlannedOperation[], written: readonly ChangeResult[]): void
  onConflict(conflict: Conflict): void
  onFailure(error: unknown): void
}

export interface EditWriter {
  apply(): Promise<void>
  discard(): void
  /** Writes the change over the current row, or drops it. */
  decide(conflict: Conflict, keepsMine: boolean): Promise<void>
}

/** Creates a writer of the staged changes of a table. */
export function createEditWriter(
  info: TableInfo,
  { staged, applying }: { readonly staged: Store<Changes>; readonly applying: Store<boolean> },
  ports: EditPorts,
): EditWriter {
  const types = new Map(info.columns.map(({ name, type }) => [name, type]))

  /**
   * Writes the staged changes. Cells may be edited in the meantime, so the staged changes are read again after each response.
   */
  async function apply(): Promise<void> {
    // Another view of the table may be writing them.
    if (applying.get()) return
    applying.set(true)
    try {
      let current = pendingByTable.get(info.table)?.sent ?? (await withTags(staged.get()))
      if (current === undefined) return
      // Each round finds at most one row that has changed without a conflict.
      for (let round = 0; round <= current.rows.size; round += 1) {
        const planned = planOperations(current, types)
        if (planned.length === 0) return
        try {
          const operations = planned.map(({ operation }) => operation)
          const before = pendingByTable.get(info.table)
          const key = before?.sent === current ? before.key : ports.createKey()
          pendingByTable.set(info.table, { sent: current, key })
          const written = await ports.apply(operations, key)
          await removeWritten(current, planned, written)
          pendingByTable.delete(info.table)
          ports.onWritten(planned, written)
          return
        } catch (error) {
          if (!isInDoubt(error)) pendingByTable.delete(info.table)
          const next = await resolve(current, planned, error)
          if (next === undefined) return
          current = next
        }
      }
    } catch (error) {
      ports.onFailure(error)
    } finally {
      applying.set(false)
    }
  }

  /** Removes written changes from the staged ones. Edits made in the meantime stay, based on the current rows. */
  async function removeWritten(
    sent: Changes,
    planned: readonly PlannedOperation[],
    written: readonly ChangeResult[],
  ): Promise<void> {
    const columns = info.columns.map(({ name }) => name)
    const answers = new Map(
      written.flatMap(({ index, body, etag = null }) => {
        const of = planned[index]?.of
        if (of === undefined || body === undefined) return []
        const key = info.primaryKey.map((name) => String(body[name]))
        return [['id' in of ? of.id : of.created, { id: idOfRecord(info, body), key, etag }] as const]
      }),
    )
    const present = new Map<string | number, TableRow>()
    for (;;) {
      const remainder = remainderOf(staged.get(), sent, columns)
      const missing = [...remainder.keys()].find((key) => !present.has(key) && answers.has(key))
      if (missing === undefined) return staged.set(withoutSent(staged.get(), sent, remainder, present))
      const { id, key, etag } = answers.get(missing) ?? {}
      answers.delete(missing)
      const page = await ports.read(id).catch(() => undefined)
      const row = page?.rows[0]
      const before = typeof missing === 'string' ? sent.rows.get(missing) : undefined
      if (before === undefined) {
        if (key !== undefined) present.set(missing, row ?? { key, etag: etag ?? null, cells: [] })
      } else if (row !== undefined && row.etag === etag && !isMoved(before, row, columns)) {
        present.set(missing, row)
      }
    }
  }

  /** Returns the changes to retry with, or undefined if the user has to decide. */
  async function resolve(
    current: Changes,
    planned: readonly PlannedOperation[],
    error: unknown,
  ): Promise<Changes | undefined> {
    if (!isBasaltError(error) || error.operation === undefined) throw error
    const of = planned[error.operation.index]?.of
    if (of === undefined) throw error
    if (changedOperation(error) === undefined || !('id' in of)) {
      staged.set(withFault(staged.get(), of, faultOf(info, error)))
      throw error
    }
    const change = current.rows.get(of.id)
    if (change === undefined) throw error
    return await withPresent(current, of.id, change, true)
  }

  /**
   * Returns the changes with the tags of large rows, which pages do not have, or undefined if the user has to decide. Rows of
   * distributed tables have no tags.
   */
  async function withTags(changes: Changes): Promise<Changes | undefined> {
    let current: Changes | undefined = changes
    for (const [id, change] of changes.rows) {
      if (change.row.etag !== null || change.present !== undefined) continue
      current = await withPresent(current, id, change, false)
      if (current === undefined) return undefined
    }
    return current
  }

  /**
   * Returns the changes based on the current row, or undefined if the user has to decide.
   *
   * @param hasChanged true if the row is known to have changed
   */
  async function withPresent(
    current: Changes,
    id: string,
    change: RowChange,
    hasChanged: boolean,
  ): Promise<Changes | undefined> {
    const page = await ports.read(id)
    const present = page.rows[0] ?? null
    if (present !== null && !isAffected(change, present, page.columns, hasChanged)) {
      setPresent(id, present)
      return putRow(current, id, { ...change, present })
    }
    // An existing row keeps the tag that was read until the user has decided.
    if (present === null) setPresent(id, null)
    ports.onConflict({ id, change, present, columns: page.columns })
    return undefined
  }

  function setPresent(id: string, present: TableRow | null): void {
    const change = staged.get().rows.get(id)
    if (change !== undefined) staged.set(putRow(staged.get(), id, { ...change, present }))
  }

  return {
    apply,
    discard() {
      pendingByTable.delete(info.table)
      staged.set(noChanges)
    },
    async decide({ id, present }, keepsMine) {
      if (keepsMine && present !== null) setPresent(id, present)
      else staged.set(dropRow(staged.get(), id))
      await apply()
    },
  }
}

/**
 * Returns true if another change affects this one: any of its cells, or the whole row for a deletion. A cell that is cut can
 * differ in the rest of its value.
 */
function isAffected(
  { row, values, isDeleted }: RowChange,
  present: TableRow,
  columns: readonly string[],
  hasChanged: boolean,
): boolean {
  const isCut = (index: number) => hasChanged && present.sizes?.[index] !== undefined
  const isEqual = (index: number) =>
    present.cells[index] === row.cells[index] && present.sizes?.[index] === row.sizes?.[index]
  return columns.some((name, index) => (isDeleted || name in values) && (!isEqual(index) || isCut(index)))
}

/** Returns true if another request has written cells that were not sent. Some of them may be edited by now. */
const isMoved = ({ row, values }: RowChange, present: TableRow, columns: readonly string[]): boolean =>
  columns.some((name, index) => !(name in values) && present.cells[index] !== row.cells[index])

/** Returns the fault with the columns that the error names, by themselves or by a foreign key. */
function faultOf({ columns, relations }: TableInfo, { data = {}, message }: BasaltError): Fault {
  const refused = Object.keys(data).flatMap(
    (key) =>
      relations
        .find(({ constraint, kind }) => constraint === key && kind === 'many-to-one')
        ?.pairs.map(({ from }) => from) ?? columns.flatMap(({ name }) => (name === key ? [name] : [])),
  )
  return { message, columns: refused }
}

function withFault(changes: Changes, of: PlannedOperation['of'], fault: Fault): Changes {
  if ('created' in of) {
    const created = changes.created.map((row) => (row.id === of.created ? { ...row, fault } : row))
    return { ...changes, created }
  }
  const change = changes.rows.get(of.id)
  if (change === undefined) return changes
  return { ...changes, rows: new Map(changes.rows).set(of.id, { ...change, fault }) }
}
