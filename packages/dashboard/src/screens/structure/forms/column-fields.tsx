import { Checkbox, Select, TextField } from '../../../ui/field.tsx'
import styles from '../structure.module.css'
import { emptyReference, type ReferenceDraft, readReference } from './reference.ts'
import { ReferenceFields } from './reference-fields.tsx'
import { TypeField } from './type-field.tsx'

/** A column as it is typed. */
export interface ColumnDraft {
  readonly name: string
  readonly type: string
  readonly default: string
  readonly identity: '' | 'always' | 'by default'
  readonly isNullable: boolean
  readonly isPrimaryKey: boolean
  readonly isUnique: boolean
  readonly reference: ReferenceDraft
  readonly comment: string
}

export const emptyColumn: ColumnDraft = {
  name: '',
  type: 'text',
  default: '',
  identity: '',
  isNullable: true,
  isPrimaryKey: false,
  isUnique: false,
  reference: emptyReference,
  comment: '',
}

/** As the plan takes it. */
export function showColumn(draft: ColumnDraft): Record<string, unknown> {
  return {
    name: draft.name,
    type: draft.type,
    ...(draft.isNullable ? {} : { isNullable: false }),
    ...(draft.default.trim() === '' ? {} : { default: draft.default }),
    ...(draft.identity === '' ? {} : { identity: draft.identity }),
    ...(draft.isPrimaryKey ? { isPrimaryKey: true } : {}),
    ...(draft.isUnique ? { isUnique: true } : {}),
    ...(draft.reference.text.trim() === '' ? {} : { references: readReference(draft.reference) }),
    ...(draft.comment === '' ? {} : { comment: draft.comment }),
  }
}

interface ColumnFieldsProps {
  readonly value: ColumnDraft
  readonly onChange: (value: ColumnDraft) => void
  /** The primary key is a matter of the table, once there is one. */
  readonly hasPrimaryKey?: boolean
}

export function ColumnFields({ value, onChange, hasPrimaryKey = true }: ColumnFieldsProps) {
  const set = (part: Partial<ColumnDraft>) => onChange({ ...value, ...part })
  return (
    <>
      <TextField label="Name" value={value.name} onChange={(name) => set({ name })} isCode />
      <TypeField value={value.type} onChange={(type) => set({ type })} />
      <TextField
        label="Default"
        placeholder="an expression, or nothing"
        value={value.default}
        onChange={(text) => set({ default: text })}
        disabled={value.identity !== ''}
        isCode
      />
      <Select
        label="Identity"
        value={value.identity}
        choices={[
          { value: '', label: 'No' },
          { value: 'always', label: 'Always' },
          { value: 'by default', label: 'Unless given' },
        ]}
        onChange={(identity) => set({ identity })}
      />
      <TextField label="Comment" value={value.comment} onChange={(comment) => set({ comment })} />
      <ReferenceFields value={value.reference} onChange={(reference) => set({ reference })} />
      <div className={styles.choices}>
        {hasPrimaryKey && (
          <Checkbox
            label="Primary key"
            checked={value.isPrimaryKey}
            onChange={(isPrimaryKey) => set({ isPrimaryKey })}
          />
        )}
        <Checkbox
          label="Required"
          checked={!value.isNullable}
          onChange={(isRequired) => set({ isNullable: !isRequired })}
        />
        <Checkbox label="Unique" checked={value.isUnique} onChange={(isUnique) => set({ isUnique })} />
      </div>
    </>
  )
}
