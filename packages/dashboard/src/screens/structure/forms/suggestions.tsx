import type { ComponentProps } from 'react'
import { useAction, useApi } from '../../../api/queries.ts'
import type { TextField } from '../../../ui/field.tsx'
import { type Field, SuggestedField } from '../../../ui/fields.tsx'
import { readTableName, writeTableName } from '../../../ui/sql.ts'
import { listRelations, readObjects, readRelation } from '../api.ts'
import type { ReferenceDraft } from './reference.tsx'

type InputProps = Pick<ComponentProps<typeof TextField>, 'value' | 'onChange' | 'hidesLabel' | 'placeholder'>

/**
 * Returns the input of a type, with the types of the database as suggestions. Other types can be typed, such as `numeric(10, 2)` or
 * `text[]`.
 */
export const typeOf =
  (props: Omit<InputProps, 'value' | 'onChange'>): Field<string> =>
  (value, onChange) => <TypeField {...props} {...{ value, onChange }} />

function TypeField(input: InputProps) {
  const objects = useApi(['structure', 'objects'], readObjects)
  return <SuggestedField label="Type" {...input} suggestions={objects.data?.columnTypes ?? []} />
}

const people = { table: 'basalt.users', key: { text: 'basalt.users(id)', type: 'uuid' } }

interface ReferenceFieldProps {
  readonly value: ReferenceDraft
  readonly onChange: (value: ReferenceDraft) => void
}

/** Renders the input of a foreign key. A table that is picked from the suggestions brings its key, and the type of the key. */
export function ReferenceField({ value, onChange }: ReferenceFieldProps) {
  const search = value.text.includes('(') ? '' : readTableName(value.text).name
  const relations = useApi(['structure', 'relations', 'referred', search], (signal) =>
    listRelations({ q: search, schema: '' }, undefined, signal),
  )
  const tables = (relations.data?.items ?? [])
    .filter(({ kind }) => kind.endsWith('table'))
    .map(({ schema, name }) => writeTableName(schema, name))
  const pick = useAction(findKey, { onDone: (key) => onChange({ ...value, ...key }) })
  return (
    <SuggestedField
      label="References"
      placeholder="Pick a table"
      value={value.text}
      onChange={(text) => {
        onChange({ ...value, text, type: '' })
        if (text === people.table) onChange({ ...value, ...people.key })
        else if (tables.includes(text)) pick.run(text)
      }}
      suggestions={[people.table, ...tables]}
    />
  )
}

/** Finds the column that rows refer to: the primary key, or else a unique column. */
async function findKey(table: string): Promise<Pick<ReferenceDraft, 'text' | 'type'>> {
  const { schema, name } = readTableName(table)
  const { constraints, columns } = await readRelation(schema, name, new AbortController().signal)
  const isKey = (kind: string) =>
    constraints.find((each) => each.kind === kind && each.columns.length === 1)?.columns[0]
  const key = isKey('primary key') ?? isKey('unique')
  const type = columns.find((column) => column.name === key)?.type ?? ''
  return { text: key === undefined ? table : `${table}(${key})`, type }
}
