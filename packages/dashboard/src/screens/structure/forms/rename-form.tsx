import { useState } from 'react'
import { TextField } from '../../../ui/field.tsx'
import type { Change } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { ReviewedForm } from './reviewed-form.tsx'

interface RenameFormProps {
  readonly title: string
  readonly name: string
  readonly change: (to: string) => Change
  readonly onApplied?: (to: string) => void
  readonly onClose: () => void
}

export function RenameForm({ title, name, change, onApplied, onClose }: RenameFormProps) {
  const review = useReview()
  const [to, setTo] = useState(name)
  const submit = () =>
    review({
      title,
      source: { change: change(to) },
      onApplied: () => {
        onClose()
        onApplied?.(to)
      },
    })
  return (
    <ReviewedForm
      title={title}
      size="small"
      onClose={onClose}
      onSubmit={to === '' || to === name ? undefined : submit}
    >
      <TextField
        label="New name"
        hint="Requests, views of clients and functions that use the name of now will fail."
        value={to}
        onChange={setTo}
        isCode
      />
    </ReviewedForm>
  )
}
