/** What a foreign key refers to, as it is typed: `public.todo(id)`. */
export interface ReferenceDraft {
  readonly text: string
  readonly onDelete: string
}

export const emptyReference: ReferenceDraft = { text: '', onDelete: 'no action' }

/** The schema is `public` and the column `id` unless it says more. Pure. */
export function readReference({ text, onDelete }: ReferenceDraft) {
  const [table = '', columns = 'id'] = text.trim().replace(/\)$/, '').split('(')
  const [first = '', second] = table.trim().split('.')
  return {
    schema: second === undefined ? 'public' : first,
    name: second ?? first,
    columns: columns.split(',').map((name) => name.trim()),
    ...(onDelete === 'no action' ? {} : { onDelete }),
  }
}
