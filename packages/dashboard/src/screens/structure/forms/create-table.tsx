import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Checkbox } from '../../../ui/field.tsx'
import { choice, choicesOf, code, DraftFields, type Fields, text } from '../../../ui/fields.tsx'
import { Form, Notice, PageHeader, Section } from '../../../ui/layout.tsx'
import { tableAddress } from '../addresses.ts'
import { readObjects } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'
import {
  adoptType,
  type ColumnDraft,
  describeDetails,
  detailFields,
  emptyColumn,
  lineFields,
  planColumn,
} from './column.ts'
import { ownerTemplate, planTemplate, templateFields } from './template.ts'

interface Row {
  readonly key: number
  readonly column: ColumnDraft
}

/** Usual columns of a table. Each can be changed or removed. */
const usual: readonly ColumnDraft[] = [
  {
    ...emptyColumn,
    name: 'id',
    type: 'bigint',
    identity: 'always',
    isPrimaryKey: true,
  },
  {
    ...emptyColumn,
    name: 'owner_id',
    type: 'uuid',
    default: 'basalt.user_id()',
    isRequired: true,
    reference: { text: 'basalt.users(id)', type: 'uuid', onDelete: 'cascade' },
  },
  {
    ...emptyColumn,
    name: 'created_at',
    type: 'timestamp with time zone',
    default: 'now()',
    isRequired: true,
  },
]

export function CreateTable() {
  const [search] = useSearchParams()
  const [, navigate] = useLocation()
  const review = useReview()
  const objects = useApi(['structure', 'objects'], readObjects)
  const [table, setTable] = useState({ name: '', schema: search.get('schema') ?? 'public', comment: '' })
  const [isProtected, setProtected] = useState(true)
  const [template, setTemplate] = useState(ownerTemplate)
  const [rows, setRows] = useState<readonly Row[]>(() => usual.map((column, key) => ({ key, column })))
  const names = rows.map(({ column }) => column.name).filter((each) => each !== '')
  const schemas = objects.data?.schemas.map((each) => each.name) ?? ['public']
  const fields: Fields<typeof table> = () => ({
    name: code('Name', { required: true }),
    schema: choice('Schema', choicesOf(schemas)),
    comment: text('Comment'),
  })
  const { name, schema, comment } = table
  const submit = () =>
    review({
      title: `Create ${name}`,
      change: {
        kind: 'create_table',
        schema,
        name,
        columns: rows.map(({ column }) => planColumn(column)),
        comment: comment || undefined,
        ...(isProtected ? { template: planTemplate(template) } : { hasRowLevelSecurity: false }),
      },
      onApplied: () => navigate(tableAddress({ schema, name })),
    })
  return (
    <>
      <PageHeader title="Create a table">You review the SQL before anything changes.</PageHeader>
      <Form onSubmit={submit}>
        <div className={styles.line}>
          <DraftFields fields={fields} value={table} onChange={setTable} />
        </div>
        <Section
          title="Columns"
          actions={
            <Button
              size="small"
              onClick={() =>
                setRows([
                  ...rows,
                  { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, column: emptyColumn },
                ])
              }
            >
              Add column
            </Button>
          }
        >
          <div className={styles.columns}>
            {rows.map(({ key, column }, index) => (
              <ColumnLine
                key={key}
                title={column.name === '' ? `Column ${index + 1}` : column.name}
                isNew={key >= usual.length}
                column={column}
                onChange={(next) =>
                  setRows(
                    rows.map((row) => (row.key === key ? { key, column: adoptType(next, column) } : row)),
                  )
                }
                onRemove={() => setRows(rows.filter((row) => row.key !== key))}
              />
            ))}
          </div>
        </Section>
        <Section title="Access">
          <div className={styles.fields}>
            <Checkbox
              label="Row-level security"
              hint="Policies control who sees and changes which rows."
              checked={isProtected}
              onChange={setProtected}
            />
            {isProtected ? (
              <DraftFields fields={templateFields(names)} value={template} onChange={setTemplate} />
            ) : (
              <Notice tone="danger">
                Every signed-in user will be able to read and change every row of the table.
              </Notice>
            )}
          </div>
        </Section>
        <div className={styles.buttons}>
          <Button type="submit" variant="primary" disabled={name.trim() === ''}>
            Review
          </Button>
        </div>
      </Form>
    </>
  )
}

interface ColumnLineProps {
  readonly title: string
  /** True for an added line, which gets the focus. */
  readonly isNew: boolean
  readonly column: ColumnDraft
  readonly onChange: (column: ColumnDraft) => void
  readonly onRemove: () => void
}

function ColumnLine({ title, isNew, column, onChange, onRemove }: ColumnLineProps) {
  const [isOpen, setOpen] = useState(false)
  const details = describeDetails(column)
  return (
    <fieldset className={styles.column}>
      <legend className="visually-hidden">{title}</legend>
      <div className={styles.line}>
        <DraftFields fields={lineFields(isNew)} value={column} onChange={onChange} />
        <Button
          size="small"
          variant="plain"
          aria-expanded={isOpen}
          aria-label={details === '' ? `Details of ${title}` : `${details}, details of ${title}`}
          onClick={() => setOpen(!isOpen)}
        >
          {details || 'Details'}
        </Button>
        <Button size="small" aria-label={`Remove ${title}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
      {isOpen && (
        <div className={styles.line}>
          <DraftFields fields={detailFields} value={column} onChange={onChange} />
        </div>
      )}
    </fieldset>
  )
}
