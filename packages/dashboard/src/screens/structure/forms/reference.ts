import { readTableName } from '../../../ui/sql.ts'

/** What a foreign key refers to, as it is typed: `public.todo(id)`. */
export interface ReferenceDraft {
  readonly text: string
  readonly onDelete: string
}

export const emptyReference: ReferenceDraft = { text: '', onDelete: 'no action' }

/** The schema is `public` and the column `id` unless it says more. Pure. */
export function readReference({ text, onDelete }: ReferenceDraft) {
  const [, table = '', columns = 'id'] = /^(.*?)(?:\(([^()]*)\)?)?\s*$/s.exec(text) ?? []
  return {
    ...readTableName(table),
    columns: columns.split(',').map((name) => name.trim()),
    ...(onDelete === 'no action' ? {} : { onDelete }),
  }
}
