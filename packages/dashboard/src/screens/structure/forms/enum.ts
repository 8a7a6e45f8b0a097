import { choice, choicesOf, code, textArea } from '../../../ui/fields.tsx'
import type { EnumType } from '../api.ts'
import { describeForm } from './form.tsx'

export const createEnum = describeForm({
  title: 'Create an enum',
  start: { name: '', schema: 'public', lines: '' },
  fields: () => ({
    name: code('Name'),
    schema: code('Schema'),
    lines: textArea('Values', { hint: 'One per line, in order.' }),
  }),
  review({ name, schema, lines }) {
    const values = lines.split('\n').filter((line) => line.trim() !== '')
    return (
      name !== '' &&
      values.length > 0 && { title: `Create ${name}`, change: { kind: 'create_enum', schema, name, values } }
    )
  },
})

const actions = [
  { value: 'add_enum_value', label: 'Add a value' },
  { value: 'rename_enum_value', label: 'Rename a value' },
  { value: 'rename_type', label: 'Rename the enum' },
]

/** Describes the form that changes an enum. PostgreSQL can add and rename values, but not remove one. */
export const changeEnum = ({ schema, name, values }: EnumType) =>
  describeForm({
    title: `Change ${name}`,
    start: { kind: 'add_enum_value', value: values[0] ?? '', to: '' },
    fields: ({ kind }) => ({
      kind: choice('Action', actions),
      value:
        kind !== 'rename_type' && choice(kind === 'add_enum_value' ? 'After' : 'Value', choicesOf(values)),
      to: code(kind === 'add_enum_value' ? 'New value' : 'New name'),
    }),
    review({ kind, value, to }) {
      const members =
        kind === 'add_enum_value'
          ? { value: to, after: value }
          : kind === 'rename_type'
            ? { to }
            : { value, to }
      return to !== '' && { title: `Change ${name}`, change: { kind, schema, name, ...members } }
    },
  })
