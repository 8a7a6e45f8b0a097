import { useState } from 'react'
import { Notice } from '../../../ui/layout.tsx'
import type { Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { ReviewedForm } from './reviewed-form.tsx'
import { ownerTemplate, showTemplate, TemplateFields } from './template-fields.tsx'

interface TemplateFormProps {
  readonly relation: Relation
  readonly onClose: () => void
}

export function TemplateForm({ relation: { schema, name, columns, policies }, onClose }: TemplateFormProps) {
  const review = useReview()
  const [template, setTemplate] = useState({
    ...ownerTemplate,
    column: columns.find(({ name: of }) => of === 'owner_id' || of === 'user_id')?.name ?? '',
  })
  const submit = () =>
    review({
      title: `Protect ${name}`,
      source: { change: { kind: 'apply_template', schema, name, template: showTemplate(template) } },
      onApplied: onClose,
    })
  return (
    <ReviewedForm title={`Protect ${name}`} onClose={onClose} onSubmit={submit}>
      {policies.length > 0 && (
        <Notice tone="warning">
          The policies that the table has stay; what any permissive one of them shows stays visible.
        </Notice>
      )}
      <TemplateFields
        value={template}
        onChange={setTemplate}
        columns={columns.map((column) => column.name)}
      />
    </ReviewedForm>
  )
}
