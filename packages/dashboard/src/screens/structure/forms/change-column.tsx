import { Button } from '../../../ui/button.tsx'
import { checkbox, code, text, unlessBlank } from '../../../ui/fields.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { quoteName } from '../../../ui/sql.ts'
import type { Column, Relation } from '../api.ts'
import { describeForm } from './form.tsx'
import { typeOf } from './suggestions.tsx'

export function changeColumn(relation: Relation, column: Column) {
  const start = {
    to: column.name,
    type: column.type,
    using: '',
    default: column.default ?? '',
    isRequired: !column.isNullable,
    comment: column.comment ?? '',
  }
  const of = { schema: relation.schema, name: relation.name }
  const title = `Change ${column.name} of ${relation.name}`
  const proof = `${relation.name}_${column.name}_not_null`.slice(0, 63)
  const isProven = relation.constraints.some(({ name, isValidated }) => name === proof && isValidated)
  const addProof = {
    kind: 'add_check',
    ...of,
    constraint: proof,
    check: `${quoteName(column.name)} is not null`,
    isValidated: false,
  }
  return describeForm({
    title: `Change ${column.name}`,
    start,
    fields: ({ type, isRequired }, send) => ({
      to: code('Name'),
      type: typeOf({}),
      using:
        type !== start.type &&
        code('Conversion', {
          hint: 'An expression of the old column. Required if PostgreSQL cannot convert the values itself.',
          placeholder: `${column.name}::${type}`,
        }),
      default:
        column.identity === null &&
        column.generated === null &&
        code('Default', { hint: 'Applies to new rows.' }),
      isRequired: (value, onChange) => (
        <>
          {checkbox('Required')(value, onChange)}
          {isRequired && column.isNullable && !isProven && (
            <ScanWarning onAddCheck={() => send({ title, change: addProof })} />
          )}
        </>
      ),
      comment: text('Comment'),
    }),
    review(draft) {
      const { to, type, isRequired, comment } = draft
      const isRetyped = type !== start.type
      const value = draft.default.trim()
      const changes = {
        ...(to !== start.to && { to }),
        ...(isRetyped && { type, using: unlessBlank(draft.using) }),
        ...(value !== start.default && { default: value === '' ? null : draft.default }),
        ...(isRequired !== start.isRequired && { isNullable: !isRequired }),
        ...(comment !== start.comment && { comment }),
      }
      return (
        Object.keys(changes).length > 0 && {
          title,
          change: { kind: 'alter_column', ...of, column: column.name, ...changes },
        }
      )
    },
  })
}

function ScanWarning({ onAddCheck }: { readonly onAddCheck: () => void }) {
  return (
    <Notice tone="warning">
      <p>
        All rows are read, which blocks reads and writes. For a large table, add a check that is not valid
        yet, validate it on the tab Constraints, and then require the column. PostgreSQL then uses the check
        as proof.
      </p>
      <Button size="small" onClick={onAddCheck}>
        Add check first
      </Button>
    </Notice>
  )
}
