import { type ComponentProps, useId } from 'react'
import { useApi } from '../../../api/queries.ts'
import { TextField } from '../../../ui/field.tsx'
import { writeTableName } from '../../../ui/sql.ts'
import { listRelations, readObjects } from '../api.ts'
import type { Field } from './fields.tsx'

/**
 * Renders the input of a type, with the types of the database as suggestions. Other types can be typed, such as `numeric(10, 2)` or
 * `text[]`.
 */
export const columnType: Field<string> = (value, onChange) => <TypeField {...{ value, onChange }} />

/** Renders the input of `schema.table(column)`, with the tables of the database as suggestions. */
export const referredColumn: Field<string> = (value, onChange) => <ReferenceField {...{ value, onChange }} />

type InputProps = Pick<ComponentProps<typeof TextField>, 'value' | 'onChange'>

function TypeField(input: InputProps) {
  const objects = useApi(['structure', 'objects'], readObjects)
  return <SuggestedField label="Type" {...input} suggestions={objects.data?.columnTypes ?? []} />
}

function ReferenceField(input: InputProps) {
  const relations = useApi(['structure', 'relations', 'referred'], (signal) =>
    listRelations({ q: '', schema: '' }, undefined, signal),
  )
  const tables = relations.data?.items.filter(({ kind }) => kind.endsWith('table')) ?? []
  const columns = tables.map(({ schema, name }) => `${writeTableName(schema, name)}(id)`)
  return (
    <SuggestedField
      label="References"
      placeholder="schema.table(column)"
      {...input}
      suggestions={['basalt.users(id)', ...columns]}
    />
  )
}

interface SuggestedFieldProps extends ComponentProps<typeof TextField> {
  readonly suggestions: readonly string[]
}

function SuggestedField({ suggestions, ...rest }: SuggestedFieldProps) {
  const id = useId()
  return (
    <>
      <TextField {...rest} list={id} isCode />
      <datalist id={id}>
        {suggestions.map((suggestion) => (
          <option key={suggestion} value={suggestion} />
        ))}
      </datalist>
    </>
  )
}
