import { useState } from 'react'
import { Select, TextArea, TextField } from '../../../ui/field.tsx'
import type { EnumType } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { ReviewedForm } from './reviewed-form.tsx'

interface EnumFormProps {
  /** Undefined: a new one. */
  readonly type: EnumType | undefined
  readonly onClose: () => void
}

export function EnumForm({ type, onClose }: EnumFormProps) {
  return type === undefined ? <NewEnum onClose={onClose} /> : <ChangedEnum type={type} onClose={onClose} />
}

function NewEnum({ onClose }: { readonly onClose: () => void }) {
  const review = useReview()
  const [name, setName] = useState('')
  const [schema, setSchema] = useState('public')
  const [text, setText] = useState('')
  const values = text.split('\n').filter((line) => line.trim() !== '')
  return (
    <ReviewedForm
      title="Create an enum"
      onClose={onClose}
      onSubmit={
        name === '' || values.length === 0
          ? undefined
          : () =>
              review({
                title: `Create ${name}`,
                source: { change: { kind: 'create_enum', schema, name, values } },
                onApplied: onClose,
              })
      }
    >
      <TextField label="Name" value={name} onChange={setName} isCode />
      <TextField label="Schema" value={schema} onChange={setSchema} isCode />
      <TextArea label="Values" hint="One in each line, in their order." value={text} onChange={setText} />
    </ReviewedForm>
  )
}

/** PostgreSQL adds and renames values; it does not take one away. */
function ChangedEnum({ type, onClose }: { readonly type: EnumType; readonly onClose: () => void }) {
  const review = useReview()
  const [what, setWhat] = useState<'add' | 'rename value' | 'rename'>('add')
  const [value, setValue] = useState(type.values[0] ?? '')
  const [to, setTo] = useState('')
  const of = { schema: type.schema, name: type.name }
  const values = type.values.map((each) => ({ value: each, label: each }))
  const change =
    what === 'add'
      ? { kind: 'add_enum_value', ...of, value: to, after: value }
      : what === 'rename value'
        ? { kind: 'rename_enum_value', ...of, value, to }
        : { kind: 'rename_type', ...of, to }
  return (
    <ReviewedForm
      title={`Change ${type.name}`}
      onClose={onClose}
      onSubmit={
        to === ''
          ? undefined
          : () => review({ title: `Change ${type.name}`, source: { change }, onApplied: onClose })
      }
    >
      <Select
        label="What to do"
        value={what}
        choices={[
          { value: 'add', label: 'Add a value' },
          { value: 'rename value', label: 'Rename a value' },
          { value: 'rename', label: 'Rename the enum' },
        ]}
        onChange={setWhat}
      />
      {what !== 'rename' && (
        <Select
          label={what === 'add' ? 'After' : 'Value'}
          value={value}
          choices={values}
          onChange={setValue}
        />
      )}
      <TextField label={what === 'add' ? 'New value' : 'New name'} value={to} onChange={setTo} isCode />
    </ReviewedForm>
  )
}
