import { useState } from 'react'
import { Checkbox, Select, TextField } from '../../../ui/field.tsx'
import type { Change, Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { emptyReference, readReference } from './reference.ts'
import { ReferenceFields } from './reference-fields.tsx'
import { ReviewedForm } from './reviewed-form.tsx'
import { splitList } from './split-list.ts'

type Kind = 'add_check' | 'add_unique' | 'add_foreign_key' | 'add_primary_key'

interface ConstraintFormProps {
  readonly relation: Relation
  readonly onClose: () => void
}

export function ConstraintForm({ relation, onClose }: ConstraintFormProps) {
  const { schema, name } = relation
  const review = useReview()
  const [kind, setKind] = useState<Kind>('add_check')
  const [constraint, setConstraint] = useState('')
  const [check, setCheck] = useState('')
  const [columns, setColumns] = useState('')
  const [reference, setReference] = useState(emptyReference)
  const [isValidated, setValidated] = useState(false)
  const named = constraint === '' ? {} : { constraint }
  const later = isValidated ? {} : { isValidated: false }
  const of = { schema, name }
  const changes: Readonly<Record<Kind, Change>> = {
    add_check: { kind, ...of, ...named, check, ...later },
    add_unique: { kind, ...of, ...named, columns: splitList(columns) },
    add_primary_key: { kind, ...of, columns: splitList(columns) },
    add_foreign_key: {
      kind,
      ...of,
      ...named,
      columns: splitList(columns),
      references: readReference(reference),
      ...later,
    },
  }
  const isComplete =
    kind === 'add_check'
      ? check.trim() !== ''
      : splitList(columns).length > 0 && (kind !== 'add_foreign_key' || reference.text.trim() !== '')
  return (
    <ReviewedForm
      title={`Add a constraint to ${name}`}
      onClose={onClose}
      onSubmit={
        isComplete
          ? () =>
              review({
                title: `Add a constraint to ${name}`,
                source: { change: changes[kind] },
                onApplied: onClose,
              })
          : undefined
      }
    >
      <Select
        label="Kind"
        value={kind}
        choices={[
          { value: 'add_check', label: 'Check: a condition that each row fulfils' },
          { value: 'add_unique', label: 'Unique: no two rows have the same values' },
          { value: 'add_foreign_key', label: 'Foreign key: the values are in another table' },
          { value: 'add_primary_key', label: 'Primary key' },
        ]}
        onChange={setKind}
      />
      {kind === 'add_check' ? (
        <TextField label="Condition" placeholder="price > 0" value={check} onChange={setCheck} isCode />
      ) : (
        <TextField
          label="Columns"
          hint={`With commas. Columns: ${relation.columns.map((column) => column.name).join(', ')}`}
          value={columns}
          onChange={setColumns}
          isCode
        />
      )}
      {kind === 'add_foreign_key' && <ReferenceFields value={reference} onChange={setReference} />}
      {kind !== 'add_primary_key' && (
        <TextField
          label="Name"
          placeholder="chosen by PostgreSQL"
          value={constraint}
          onChange={setConstraint}
          isCode
        />
      )}
      {(kind === 'add_check' || kind === 'add_foreign_key') && (
        <Checkbox
          label="Check the rows of now at once"
          hint="Writes wait meanwhile. Otherwise it holds for new rows, and is validated afterwards, which lets others read and write."
          checked={isValidated}
          onChange={setValidated}
        />
      )}
    </ReviewedForm>
  )
}
