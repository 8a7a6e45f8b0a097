import { checkbox, checkboxes, choice, code, type Fields, text, unlessBlank } from './fields.tsx'
import { emptyReference, readReference, referenceFields } from './reference.ts'
import { columnType } from './suggestions.tsx'

/** Form state of a column. */
export type ColumnDraft = typeof emptyColumn

export const emptyColumn = {
  name: '',
  type: 'text',
  default: '',
  identity: '',
  comment: '',
  reference: emptyReference,
  marks: { isPrimaryKey: false, isRequired: false, isUnique: false },
}

const identities = [
  { value: '', label: 'No' },
  { value: 'always', label: 'Always' },
  { value: 'by default', label: 'By default' },
]

const fieldsOf =
  ({ isOfNewTable }: { readonly isOfNewTable: boolean }): Fields<ColumnDraft> =>
  (draft) => ({
    name: code('Name'),
    type: columnType,
    default: code('Default', {
      placeholder: 'an expression, or empty',
      disabled: draft.identity !== '',
    }),
    identity: choice('Identity', identities),
    comment: text('Comment'),
    reference: referenceFields,
    marks: checkboxes({
      // The primary key of an existing table is a constraint of the table.
      isPrimaryKey: isOfNewTable && checkbox('Primary key'),
      isRequired: checkbox('Required'),
      isUnique: checkbox('Unique'),
    }),
  })

export const addedColumnFields = fieldsOf({ isOfNewTable: false })
export const newTableColumnFields = fieldsOf({ isOfNewTable: true })

/** Returns the column in the format of the plan request. */
export const planColumn = ({ reference, marks, ...draft }: ColumnDraft) => ({
  name: draft.name,
  type: draft.type,
  isNullable: marks.isRequired ? false : undefined,
  default: unlessBlank(draft.default),
  identity: draft.identity || undefined,
  isPrimaryKey: marks.isPrimaryKey || undefined,
  isUnique: marks.isUnique || undefined,
  references: reference.text.trim() === '' ? undefined : readReference(reference),
  comment: draft.comment || undefined,
})
