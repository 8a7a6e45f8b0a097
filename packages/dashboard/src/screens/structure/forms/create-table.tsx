import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Checkbox } from '../../../ui/field.tsx'
import { Form, Notice, PageHeader, Section } from '../../../ui/layout.tsx'
import { tableAddress } from '../addresses.ts'
import { readObjects } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'
import { type ColumnDraft, emptyColumn, newTableColumnFields, planColumn } from './column.ts'
import { choice, choicesOf, code, DraftFields, type Fields, text } from './fields.tsx'
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
    marks: { ...emptyColumn.marks, isPrimaryKey: true },
  },
  {
    ...emptyColumn,
    name: 'owner_id',
    type: 'uuid',
    default: 'basalt.user_id()',
    marks: { ...emptyColumn.marks, isRequired: true },
    reference: { text: 'basalt.users(id)', onDelete: 'cascade' },
  },
  {
    ...emptyColumn,
    name: 'created_at',
    type: 'timestamp with time zone',
    default: 'now()',
    marks: { ...emptyColumn.marks, isRequired: true },
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
        <DraftFields fields={fields} value={table} onChange={setTable} />
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
              <fieldset key={key} className={styles.column}>
                <legend>{column.name === '' ? `Column ${index + 1}` : column.name}</legend>
                <DraftFields
                  fields={newTableColumnFields}
                  value={column}
                  onChange={(next) =>
                    setRows(rows.map((row) => (row.key === key ? { key, column: next } : row)))
                  }
                />
                <Button
                  size="small"
                  aria-label={`Remove column ${column.name || index + 1}`}
                  onClick={() => setRows(rows.filter((row) => row.key !== key))}
                >
                  Remove
                </Button>
              </fieldset>
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
