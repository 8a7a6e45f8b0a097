import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Checkbox, TextField } from '../../../ui/field.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { quoteName } from '../../../ui/sql.ts'
import type { Change, Column, Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { ReviewedForm } from './reviewed-form.tsx'
import { TypeField } from './type-field.tsx'

interface AlterColumnFormProps {
  readonly relation: Relation
  readonly column: Column
  readonly onClose: () => void
}

export function AlterColumnForm({ relation, column, onClose }: AlterColumnFormProps) {
  const { schema, name } = relation
  const review = useReview()
  const [to, setTo] = useState(column.name)
  const [type, setType] = useState(column.type)
  const [using, setUsing] = useState('')
  const [value, setValue] = useState(column.default ?? '')
  const [isNullable, setNullable] = useState(column.isNullable)
  const [comment, setComment] = useState(column.comment ?? '')
  const changes = {
    ...(to === column.name ? {} : { to }),
    ...(type === column.type ? {} : { type, ...(using.trim() === '' ? {} : { using }) }),
    ...(value.trim() === (column.default ?? '') ? {} : { default: value.trim() === '' ? null : value }),
    ...(isNullable === column.isNullable ? {} : { isNullable }),
    ...(comment === (column.comment ?? '') ? {} : { comment }),
  }
  const send = (change: Change) =>
    review({ title: `Change ${column.name} of ${name}`, source: { change }, onApplied: onClose })
  const proof = `${name}_${column.name}_not_null`.slice(0, 63)
  const becomesRequired = column.isNullable && !isNullable
  const isProven = relation.constraints.some(({ name: of, isValidated }) => of === proof && isValidated)
  return (
    <ReviewedForm
      title={`Change ${column.name}`}
      onClose={onClose}
      onSubmit={
        Object.keys(changes).length === 0
          ? undefined
          : () => send({ kind: 'alter_column', schema, name, column: column.name, ...changes })
      }
    >
      <TextField label="Name" value={to} onChange={setTo} isCode />
      <TypeField value={type} onChange={setType} />
      {type !== column.type && (
        <TextField
          label="Values are made by"
          hint="An expression of the old column, where PostgreSQL cannot convert by itself."
          placeholder={`${column.name}::${type}`}
          value={using}
          onChange={setUsing}
          isCode
        />
      )}
      {column.identity === null && column.generated === null && (
        <TextField label="Default" hint="For rows to come." value={value} onChange={setValue} isCode />
      )}
      <Checkbox label="Required" checked={!isNullable} onChange={(isRequired) => setNullable(!isRequired)} />
      {becomesRequired && !isProven && (
        <Notice tone="warning">
          <p>
            All rows are read while reads and writes wait. On a large table, add a check that is not valid
            yet, validate it on the tab Constraints, and then require the column: PostgreSQL takes the check
            as proof.
          </p>
          <Button
            size="small"
            onClick={() =>
              send({
                kind: 'add_check',
                schema,
                name,
                constraint: proof,
                check: `${quoteName(column.name)} is not null`,
                isValidated: false,
              })
            }
          >
            Add the check first
          </Button>
        </Notice>
      )}
      <TextField label="Comment" value={comment} onChange={setComment} />
    </ReviewedForm>
  )
}
