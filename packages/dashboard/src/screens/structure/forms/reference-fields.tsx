import { useId } from 'react'
import { useApi } from '../../../api/queries.ts'
import { type Choice, Select, TextField } from '../../../ui/field.tsx'
import { writeTableName } from '../../../ui/sql.ts'
import { listRelations } from '../api.ts'
import type { ReferenceDraft } from './reference.ts'

const actions: readonly Choice<string>[] = [
  { value: 'no action', label: 'Is refused' },
  { value: 'cascade', label: 'Deletes this row, too' },
  { value: 'set null', label: 'Empties this column' },
  { value: 'set default', label: 'Sets the default' },
]

interface ReferenceFieldsProps {
  readonly value: ReferenceDraft
  readonly onChange: (value: ReferenceDraft) => void
}

export function ReferenceFields({ value, onChange }: ReferenceFieldsProps) {
  const id = useId()
  const tables = useApi(['structure', 'relations', 'referred'], (signal) =>
    listRelations({ q: '', schema: '' }, undefined, signal),
  )
  return (
    <>
      <TextField
        label="References"
        placeholder="schema.table(column)"
        value={value.text}
        list={id}
        isCode
        onChange={(text) => onChange({ ...value, text })}
      />
      <datalist id={id}>
        <option value="basalt.users(id)" />
        {tables.data?.items
          .filter(({ kind }) => kind.endsWith('table'))
          .map(({ schema, name }) => (
            <option key={writeTableName(schema, name)} value={`${writeTableName(schema, name)}(id)`} />
          ))}
      </datalist>
      {value.text !== '' && (
        <Select
          label="On delete of that row"
          value={value.onDelete}
          choices={actions}
          onChange={(onDelete) => onChange({ ...value, onDelete })}
        />
      )}
    </>
  )
}
