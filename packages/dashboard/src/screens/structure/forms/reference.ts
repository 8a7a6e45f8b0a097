import { readTableName } from '../../../ui/sql.ts'
import { choice, group } from './fields.tsx'
import { referredColumn } from './suggestions.tsx'

/** Form state of a foreign key target: `public.todo(id)`. */
export interface ReferenceDraft {
  readonly text: string
  readonly onDelete: string
}

export const emptyReference: ReferenceDraft = { text: '', onDelete: 'no action' }

const actions = [
  { value: 'no action', label: 'Refuse' },
  { value: 'cascade', label: 'Delete this row' },
  { value: 'set null', label: 'Set this column to NULL' },
  { value: 'set default', label: 'Set the default' },
]

export const referenceFields = group<ReferenceDraft>(({ text }) => ({
  text: referredColumn,
  onDelete: text !== '' && choice('When that row is deleted', actions),
}))

/** Returns the reference in the format of the plan request. Without other input the schema is `public` and the column `id`. */
export function readReference({ text, onDelete }: ReferenceDraft) {
  const [, table = '', columns = 'id'] = /^(.*?)(?:\(([^()]*)\)?)?\s*$/s.exec(text) ?? []
  return {
    ...readTableName(table),
    columns: columns.split(',').map((name) => name.trim()),
    onDelete: onDelete === 'no action' ? undefined : onDelete,
  }
}
