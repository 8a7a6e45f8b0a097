import { checkbox, choice, code, namesOf } from '../../../ui/fields.tsx'
import { splitList } from '../../../ui/split-list.ts'
import type { Relation } from '../api.ts'
import { describeForm } from './form.tsx'
import { emptyReference, type ReferenceDraft, readReference, referenceFields } from './reference.tsx'

const kinds = [
  { value: 'add_check', label: 'Check: every row meets a condition' },
  { value: 'add_unique', label: 'Unique: no two rows have equal values' },
  { value: 'add_foreign_key', label: 'Foreign key: the values exist in another table' },
  { value: 'add_primary_key', label: 'Primary key' },
] as const

interface ConstraintDraft {
  readonly kind: (typeof kinds)[number]['value']
  readonly check: string
  readonly columns: string
  readonly reference: ReferenceDraft
  readonly constraint: string
  readonly isValidated: boolean
}

export const addConstraint = ({ schema, name, columns }: Relation) =>
  describeForm<ConstraintDraft>({
    title: `Add a constraint to ${name}`,
    start: {
      kind: 'add_check',
      check: '',
      columns: '',
      reference: emptyReference,
      constraint: '',
      isValidated: false,
    },
    fields: ({ kind }) => ({
      kind: choice('Kind', kinds),
      check: kind === 'add_check' && code('Condition', { placeholder: 'price > 0' }),
      columns:
        kind !== 'add_check' &&
        code('Columns', { hint: `Separated by commas. Columns: ${namesOf(columns)}` }),
      reference: kind === 'add_foreign_key' && referenceFields,
      constraint: kind !== 'add_primary_key' && code('Name', { placeholder: 'set by PostgreSQL' }),
      isValidated:
        (kind === 'add_check' || kind === 'add_foreign_key') &&
        checkbox('Check existing rows now', {
          hint: 'Blocks writes during the check. Otherwise the constraint applies to new rows first. Validate it afterwards, without blocking.',
        }),
    }),
    review(draft) {
      const { kind, check, reference } = draft
      const keys = splitList(draft.columns)
      const constraint = draft.constraint || undefined
      const isValidated = draft.isValidated ? undefined : false
      const members = {
        add_check: check.trim() !== '' && { constraint, check, isValidated },
        add_unique: keys.length > 0 && { constraint, columns: keys },
        add_primary_key: keys.length > 0 && { columns: keys },
        add_foreign_key: keys.length > 0 &&
          reference.text.trim() !== '' && {
            constraint,
            columns: keys,
            references: readReference(reference),
            isValidated,
          },
      }[kind]
      return members && { title: `Add a constraint to ${name}`, change: { kind, schema, name, ...members } }
    },
  })
