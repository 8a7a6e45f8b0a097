import { Button } from '../../../ui/button.tsx'
import { DataTable, RowActions, type Column as TableColumn } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import type { Column, Relation } from '../api.ts'
import { addColumn } from '../forms/add-column.ts'
import { changeColumn } from '../forms/change-column.tsx'
import { useForm } from '../forms/form.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function ColumnsTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, columns, constraints } = relation
  const form = useForm()
  const review = useReview()
  const isTable = relation.kind.endsWith('table')
  const keys = constraints.find(({ kind }) => kind === 'primary key')?.columns ?? []
  const referenceOf = (column: Column) =>
    constraints.find(({ references, columns: own }) => references !== null && own.includes(column.name))
      ?.references
  const actions: TableColumn<Column> = [
    'Actions',
    (column) => (
      <RowActions
        of={column.name}
        actions={[
          ['Change', () => form.open(changeColumn(relation, column))],
          [
            'Drop',
            () =>
              review({
                title: `Drop ${column.name} of ${name}`,
                confirmName: column.name,
                change: { kind: 'drop_column', schema, name, column: column.name },
              }),
          ],
        ]}
      />
    ),
    'actions',
  ]
  return (
    <>
      {isTable && (
        <Toolbar label="Columns">
          <Button needs="change" onClick={() => form.open(addColumn(relation))}>
            Add column
          </Button>
        </Toolbar>
      )}
      <DataTable
        caption="Columns"
        rows={columns}
        rowKey={(column) => column.name}
        empty="The table has no columns yet. A column holds one value of each row."
        first={['Add the first column', () => form.open(addColumn(relation))]}
        columns={[
          [
            'Name',
            (column) => (
              <>
                <span className={styles.code}>{column.name}</span>{' '}
                {keys.includes(column.name) && <Badge>primary key</Badge>}
              </>
            ),
          ],
          ['Type', ({ type }) => <span className={styles.code}>{type}</span>],
          ['Required', ({ isNullable }) => (isNullable ? 'no' : 'yes')],
          ['Default', (column) => <span className={styles.code}>{describeDefault(column)}</span>, 'minor'],
          [
            'References',
            (column) => {
              const target = referenceOf(column)
              return target == null ? '' : `${target.schema}.${target.name}`
            },
            'minor',
          ],
          ['Comment', ({ comment }) => comment ?? '', 'minor'],
          ...(isTable ? [actions] : []),
        ]}
      />
      {form.dialog}
    </>
  )
}

function describeDefault({ default: value, identity, generated }: Column): string {
  if (identity !== null) return `numbered ${identity}`
  return generated === null ? (value ?? '') : `generated: ${generated}`
}
