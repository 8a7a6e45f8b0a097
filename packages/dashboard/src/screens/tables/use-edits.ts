import { randomId } from '@basaltdb/client'
import { useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { useStore } from '../../api/store.ts'
import { countOf } from '../../ui/format.ts'
import { showToast } from '../../ui/toasts.ts'
import { applyChanges, readRows, type TableInfo } from './api.ts'
import { countChanges } from './changes.ts'
import { type Conflict, createEditWriter } from './edit-writer.ts'
import { applyingOf, stagedOf } from './staged.ts'
import { undoAction } from './undo.ts'

/** Returns the staged changes, and the functions that write them. */
export function useEdits(info: TableInfo, onWritten: () => void) {
  const staged = stagedOf(info.table)
  const changes = useStore(staged)
  const applying = applyingOf(info.table)
  const isApplying = useStore(applying)
  const [conflict, setConflict] = useState<Conflict>()
  const writer = createEditWriter(
    info,
    { staged, applying },
    {
      apply: (operations, key) => inSession(() => applyChanges(info.table, operations, key)),
      read: (id) => inSession(() => readRows(info.table, { id })),
      createKey: randomId,
      onWritten(planned, written) {
        onWritten()
        const undo = undoAction(info, planned, written, onWritten)
        showToast(`${countOf(planned.length, 'change')} written.`, 'done', undo)
      },
      onConflict: setConflict,
      onFailure: (error) => showToast(error instanceof Error ? error.message : String(error), 'failure'),
    },
  )
  return {
    changes,
    setChanges: staged.set,
    count: countChanges(changes),
    isApplying,
    conflict,
    apply: () => void writer.apply(),
    discard: writer.discard,
    decide(keepsMine: boolean) {
      if (conflict === undefined) return
      setConflict(undefined)
      void writer.decide(conflict, keepsMine)
    },
    postpone: () => setConflict(undefined),
  }
}

export type Edits = ReturnType<typeof useEdits>
