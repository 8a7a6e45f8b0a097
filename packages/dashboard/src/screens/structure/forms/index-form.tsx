import { useState } from 'react'
import { Checkbox, Select, TextField } from '../../../ui/field.tsx'
import type { Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'
import { ReviewedForm } from './reviewed-form.tsx'
import { splitList } from './split-list.ts'

interface IndexFormProps {
  readonly relation: Relation
  readonly onClose: () => void
}

const methods = ['btree', 'hash', 'gin', 'gist', 'spgist', 'brin'] as const

export function IndexForm({ relation: { schema, name, columns }, onClose }: IndexFormProps) {
  const review = useReview()
  const [keys, setKeys] = useState('')
  const [index, setIndex] = useState('')
  const [method, setMethod] = useState<(typeof methods)[number]>('btree')
  const [where, setWhere] = useState('')
  const [include, setInclude] = useState('')
  const [isUnique, setUnique] = useState(false)
  const [isConcurrent, setConcurrent] = useState(true)
  const submit = () =>
    review({
      title: `Index ${keys} of ${name}`,
      source: {
        change: {
          kind: 'create_index',
          schema,
          name,
          keys: splitList(keys),
          ...(index === '' ? {} : { index }),
          ...(method === 'btree' ? {} : { method }),
          ...(where.trim() === '' ? {} : { where }),
          ...(include.trim() === '' ? {} : { include: splitList(include) }),
          ...(isUnique ? { isUnique } : {}),
          ...(isConcurrent ? { isConcurrent } : {}),
        },
      },
      onApplied: onClose,
    })
  return (
    <ReviewedForm
      title={`Create an index of ${name}`}
      onClose={onClose}
      onSubmit={splitList(keys).length === 0 ? undefined : submit}
    >
      <TextField
        label="Columns"
        hint={`With commas, in their order; expressions in parentheses. Columns: ${columns.map((column) => column.name).join(', ')}`}
        placeholder="owner_id, created_at desc"
        value={keys}
        onChange={setKeys}
        isCode
      />
      <Select
        label="Method"
        value={method}
        choices={methods.map((value) => ({ value, label: value }))}
        onChange={setMethod}
      />
      <TextField label="Only rows where" placeholder="not done" value={where} onChange={setWhere} isCode />
      <TextField
        label="With the columns"
        hint="Carried along, not searched."
        value={include}
        onChange={setInclude}
        isCode
      />
      <TextField label="Name" placeholder="chosen by PostgreSQL" value={index} onChange={setIndex} isCode />
      <div className={styles.choices}>
        <Checkbox label="Unique" checked={isUnique} onChange={setUnique} />
        <Checkbox
          label="Concurrently"
          hint="Writes are not blocked while it is built; it takes longer, and stands alone in its migration."
          checked={isConcurrent}
          onChange={setConcurrent}
        />
      </div>
    </ReviewedForm>
  )
}
