import { Select } from '../../../ui/field.tsx'
import type { Field } from '../../../ui/fields.tsx'
import { readTableName } from '../../../ui/sql.ts'
import { ReferenceField } from './suggestions.tsx'

/** Form state of a foreign key target: `public.todo(id)`. */
export interface ReferenceDraft {
  readonly text: string
  /** Type of the referenced key, once a table was chosen. */
  readonly type: string
  readonly onDelete: string
}

export const emptyReference: ReferenceDraft = { text: '', type: '', onDelete: 'no action' }

const actions = [
  { value: 'no action', label: 'Refuse' },
  { value: 'cascade', label: 'Delete this row' },
  { value: 'set null', label: 'Set this column to NULL' },
  { value: 'set default', label: 'Set the default' },
]

export const referenceFields: Field<ReferenceDraft> = (value, onChange) => (
  <>
    <ReferenceField value={value} onChange={onChange} />
    {value.text !== '' && (
      <Select
        label="When that row is deleted"
        value={value.onDelete}
        choices={actions}
        onChange={(onDelete) => onChange({ ...value, onDelete })}
      />
    )}
  </>
)

/** Returns the reference in the format of the plan request. Without other input the schema is `public` and the column `id`. */
export function readReference({ text, onDelete }: Pick<ReferenceDraft, 'text' | 'onDelete'>) {
  const [, table = '', columns = 'id'] = /^(.*?)(?:\(([^()]*)\)?)?\s*$/s.exec(text) ?? []
  return {
    ...readTableName(table),
    columns: columns.split(',').map((name) => name.trim()),
    onDelete: onDelete === 'no action' ? undefined : onDelete,
  }
}
