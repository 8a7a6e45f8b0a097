import { readTableName } from '../../../ui/sql.ts'
import { choice, group } from './fields.tsx'
import { referredColumn } from './suggestions.tsx'

/** Target of a foreign key as it is typed: `public.todo(id)`. */
export interface ReferenceDraft {
  readonly text: string
  readonly onDelete: string
}

export const emptyReference: ReferenceDraft = { text: '', onDelete: 'no action' }

const actions = [
  { value: 'no action', label: 'Is refused' },
  { value: 'cascade', label: 'Deletes this row, too' },
  { value: 'set null', label: 'Empties this column' },
  { value: 'set default', label: 'Sets the default' },
]

export const referenceFields = group<ReferenceDraft>(({ text }) => ({
  text: referredColumn,
  onDelete: text !== '' && choice('On delete of that row', actions),
}))

/** Reads the reference as the plan takes it. The schema is `public` and the column `id` unless the text says more. */
export function readReference({ text, onDelete }: ReferenceDraft) {
  const [, table = '', columns = 'id'] = /^(.*?)(?:\(([^()]*)\)?)?\s*$/s.exec(text) ?? []
  return {
    ...readTableName(table),
    columns: columns.split(',').map((name) => name.trim()),
    onDelete: onDelete === 'no action' ? undefined : onDelete,
  }
}
