import { inSession } from '../../api/queries.ts'
import { countOf } from '../../ui/format.ts'
import { showToast, type ToastMessage } from '../../ui/toasts.ts'
import { applyChanges, type ChangeResult, type Operation, type TableInfo } from './api.ts'
import type { PlannedOperation } from './changes.ts'
import { changedOperation } from './edit-writer.ts'
import { idOfRecord } from './names.ts'

/** Returns the warning before a deletion that Undo cannot restore; undefined if it can. */
export const lostByUndo = ({ cascades }: TableInfo): string | undefined =>
  cascades.length > 0
    ? 'Undo does not restore rows of other tables that a foreign key deletes with these.'
    : undefined

/**
 * Returns the action that undoes the changes. It is available while its message is shown. Returns undefined if undo is not
 * possible.
 */
export function undoAction(
  info: TableInfo,
  planned: readonly PlannedOperation[],
  written: readonly ChangeResult[],
  onWritten: () => void,
): ToastMessage['action'] {
  const operations = written.toReversed().flatMap((result) => {
    const operation = planned[result.index]?.operation
    return operation === undefined ? [] : (invert(info, operation, result) ?? [])
  })
  if (operations.length < written.length) return undefined
  const run = async () => {
    try {
      await inSession(() => applyChanges(info.table, operations))
      onWritten()
      showToast(`${countOf(operations.length, 'change')} undone.`)
    } catch (error) {
      const index = changedOperation(error)
      const changed = index === undefined ? undefined : operations[index]?.id
      showToast(
        changed !== undefined
          ? `Nothing was undone: row ${changed} has changed since you wrote it.`
          : messageOf(error),
        'failure',
      )
    }
  }
  return { label: 'Undo', run: () => void run() }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/**
 * Returns the inverse operations. Rows that another request has written since are left unchanged, because they have another
 * version.
 */
function invert(
  info: TableInfo,
  { method, id = '', body = {} }: Operation,
  { before, body: after, etag }: ChangeResult,
): Operation | undefined {
  const { columns, primaryKey } = info
  const common = etag === undefined ? {} : { ifMatch: etag }
  switch (method) {
    case 'create': {
      const created = after === undefined ? undefined : idOfRecord(info, after)
      return created === undefined ? undefined : { method: 'delete', id: created, ...common }
    }
    case 'update': {
      // A changed key is now the id of the row.
      if (before === undefined || primaryKey.some((name) => name in body)) return undefined
      const values = Object.fromEntries(Object.keys(body).map((name) => [name, before[name] ?? null]))
      return { method: 'update', id, ...common, body: values }
    }
    case 'delete': {
      if (before === undefined) return undefined
      // Only PostgreSQL sets the values of generated columns. Those of identity columns are restored.
      const isGenerated = new Set(
        columns.flatMap((column) => (column.isGenerated === true ? column.name : [])),
      )
      const values = Object.entries(before).filter(([name]) => !isGenerated.has(name))
      return { method: 'create', body: Object.fromEntries(values) }
    }
  }
}
