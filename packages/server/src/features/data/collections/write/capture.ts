import type { Relation } from '../../../../database/catalog/model.ts'
import type { Capture, ChangeForm, ChangeLog, WriteAction } from '../../../../database/change-log.ts'
import { lacksColumns, type Reader } from '../plan/reader.ts'

interface CapturedWrite {
  readonly relation: Relation
  readonly action: WriteAction
  readonly form: ChangeForm
  readonly reader: Reader
}

/** Returns the capture of a write; undefined when it has no listener. */
export function findCapture(
  changes: ChangeLog,
  { relation, action, form, reader }: CapturedWrite,
): Capture | undefined {
  const actions = action === 'upsert' ? (['create', 'update'] as const) : [action]
  // A write stashes its changes with the columns that the caller may read.
  const isPartial = lacksColumns(relation, reader)
  const calls = actions.flatMap((each) => changes.capture(relation, each, form, isPartial) ?? [])
  if (calls.length === 0) return undefined
  return {
    after: calls.map(({ call, takesChanges }) => ({ ...call, asLogin: takesChanges })),
    takesChanges: calls.some(({ takesChanges }) => takesChanges),
    committed: () => changes.committed(),
    doubt: () => changes.doubt(relation),
  }
}
