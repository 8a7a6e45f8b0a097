import { useState } from 'react'
import type { Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { ColumnFields, emptyColumn, showColumn } from './column-fields.tsx'
import { ReviewedForm } from './reviewed-form.tsx'

interface AddColumnFormProps {
  readonly relation: Relation
  readonly onClose: () => void
}

export function AddColumnForm({ relation: { schema, name }, onClose }: AddColumnFormProps) {
  const review = useReview()
  const [column, setColumn] = useState(emptyColumn)
  const submit = () =>
    review({
      title: `Add ${column.name} to ${name}`,
      source: { change: { kind: 'add_column', schema, name, column: showColumn(column) } },
      onApplied: onClose,
    })
  return (
    <ReviewedForm
      title={`Add a column to ${name}`}
      onClose={onClose}
      onSubmit={column.name === '' || column.type === '' ? undefined : submit}
    >
      <ColumnFields value={column} onChange={setColumn} hasPrimaryKey={false} />
    </ReviewedForm>
  )
}
