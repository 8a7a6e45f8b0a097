import { checkbox, choice, code, type Fields, text, unlessBlank } from '../../../ui/fields.tsx'
import { emptyReference, readReference, referenceFields } from './reference.tsx'
import { typeOf } from './suggestions.tsx'

/** Form state of a column. */
export type ColumnDraft = typeof emptyColumn

export const emptyColumn = {
  name: '',
  type: 'text',
  default: '',
  isRequired: false,
  isPrimaryKey: false,
  isUnique: false,
  identity: '',
  comment: '',
  reference: emptyReference,
}

const identities = [
  { value: '', label: 'No' },
  { value: 'always', label: 'Always' },
  { value: 'by default', label: 'By default' },
]

/** Returns the fields of the line of a column. @param isNew true for an added line, which gets the focus */
export const lineFields =
  (isNew: boolean): Fields<ColumnDraft> =>
  ({ identity }) => ({
    name: code('Name', { hidesLabel: true, placeholder: 'Name', autoFocus: isNew }),
    type: typeOf({ hidesLabel: true, placeholder: 'Type' }),
    default: code('Default', { hidesLabel: true, placeholder: 'Default', disabled: identity !== '' }),
    isRequired: checkbox('Required'),
  })

/** Renders the fields of a column below its line. */
export const detailFields: Fields<ColumnDraft> = () => ({
  reference: referenceFields,
  identity: choice('Identity', identities),
  comment: text('Comment'),
  isPrimaryKey: checkbox('Primary key'),
  isUnique: checkbox('Unique'),
})

/** Renders the fields of a column of an existing table, whose primary key is a constraint of the table. */
export const addedColumnFields: Fields<ColumnDraft> = (draft) => ({
  name: code('Name'),
  type: typeOf({}),
  default: code('Default', { disabled: draft.identity !== '' }),
  isRequired: checkbox('Required'),
  ...detailFields(draft),
  isPrimaryKey: false,
})

/** Gives a column the type of the key that it refers to. */
export const adoptType = (next: ColumnDraft, { reference }: ColumnDraft): ColumnDraft =>
  next.reference.type === '' || next.reference.type === reference.type
    ? next
    : { ...next, type: next.reference.type }

/** Returns the details that are set, for the folded line. */
export const describeDetails = ({ isPrimaryKey, isUnique, identity, reference, comment }: ColumnDraft) =>
  [
    isPrimaryKey ? 'primary key' : [],
    isUnique ? 'unique' : [],
    identity === '' ? [] : 'numbered',
    reference.text === '' ? [] : `→ ${reference.text}`,
    comment === '' ? [] : 'comment',
  ]
    .flat()
    .join(', ')

/** Returns the column in the format of the plan request. */
export const planColumn = ({ reference, ...draft }: ColumnDraft) => ({
  name: draft.name,
  type: draft.type,
  isNullable: draft.isRequired ? false : undefined,
  default: unlessBlank(draft.default),
  identity: draft.identity || undefined,
  isPrimaryKey: draft.isPrimaryKey || undefined,
  isUnique: draft.isUnique || undefined,
  references: reference.text.trim() === '' ? undefined : readReference(reference),
  comment: draft.comment || undefined,
})
