import { group } from '../../../ui/fields.tsx'
import { Notice } from '../../../ui/layout.tsx'
import type { Relation } from '../api.ts'
import { describeForm } from './form.tsx'
import { ownerTemplate, planTemplate, templateFields } from './template.ts'

export function applyTemplate({ schema, name, columns, policies }: Relation) {
  const names = columns.map((column) => column.name)
  const owner = names.find((each) => each === 'owner_id' || each === 'user_id') ?? ''
  return describeForm({
    title: `Protect ${name}`,
    start: { template: { ...ownerTemplate, column: owner } },
    fields: () => ({
      template: (value, onChange) => (
        <>
          {policies.length > 0 && (
            <Notice tone="warning">
              Existing policies are kept. Rows that an existing permissive policy allows stay visible.
            </Notice>
          )}
          {group(templateFields(names))(value, onChange)}
        </>
      ),
    }),
    review: ({ template }) => ({
      title: `Protect ${name}`,
      change: { kind: 'apply_template', schema, name, template: planTemplate(template) },
    }),
  })
}
