import { inSession } from '../../api/queries.ts'
import { countOf } from '../../ui/format.ts'
import { showToast, type ToastMessage } from '../../ui/toasts.ts'
import { applyChanges, type Operation, type TableInfo } from './api.ts'
import type { PlannedOperation } from './changes.ts'

/** A result of a change. */
export interface Written {
  readonly index: number
  readonly body?: Readonly<Record<string, unknown>>
  /** The row as it was. */
  readonly before?: Readonly<Record<string, unknown>>
}

/** Of a deletion. */
export const lostByUndo =
  'Undo does not bring back rows of other tables that a foreign key deletes with these.'

/** What takes the changes back, for as long as its message is shown; undefined where that is not possible. */
export function undoAction(
  info: TableInfo,
  planned: readonly PlannedOperation[],
  written: readonly Written[],
  onWritten: () => void,
): ToastMessage['action'] {
  const operations = written.flatMap((result) => {
    const operation = planned[result.index]?.operation
    return operation === undefined ? [] : (invert(info, operation, result) ?? [])
  })
  if (operations.length < written.length) return undefined
  const run = async () => {
    try {
      await inSession(() => applyChanges(info.table, operations.reverse()))
      onWritten()
      showToast(`${countOf(operations.length, 'change')} taken back.`)
    } catch (error) {
      showToast(error instanceof Error ? error.message : String(error), 'failure')
    }
  }
  return { label: 'Undo', run: () => void run() }
}

function invert(
  { columns, primaryKey }: TableInfo,
  { method, id = '', body = {} }: Operation,
  { before, body: after }: Written,
): Operation | undefined {
  switch (method) {
    case 'create': {
      const key = primaryKey.map((name) => after?.[name])
      if (key.length === 0 || key.some((value) => value === undefined)) return undefined
      const [single] = key
      return {
        method: 'delete',
        id: key.length === 1 ? String(single) : key.map((value) => encodeURIComponent(String(value))).join(),
      }
    }
    case 'update': {
      // A key that was changed is the row's address now.
      if (before === undefined || primaryKey.some((name) => name in body)) return undefined
      const values = Object.fromEntries(Object.keys(body).map((name) => [name, before[name] ?? null]))
      return { method: 'update', id, body: values }
    }
    case 'delete':
      // PostgreSQL alone gives values to such columns.
      if (before === undefined || columns.some(({ identity }) => identity === 'always')) return undefined
      return { method: 'create', body: before }
  }
}
