import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import { ActionsTitle } from '../actions-title.tsx'
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
  return (
    <>
      {isTable && (
        <Toolbar label="Columns">
          <Button onClick={() => form.open(addColumn(relation))}>Add column</Button>
        </Toolbar>
      )}
      <DataTable
        caption="Columns"
        rows={columns}
        rowKey={(column) => column.name}
        empty="The table has no columns."
        columns={[
          {
            key: 'name',
            title: 'Name',
            cell: (column) => (
              <>
                <span className={styles.code}>{column.name}</span>{' '}
                {keys.includes(column.name) && <Badge>primary key</Badge>}
              </>
            ),
          },
          { key: 'type', title: 'Type', cell: ({ type }) => <span className={styles.code}>{type}</span> },
          { key: 'required', title: 'Required', cell: ({ isNullable }) => (isNullable ? 'no' : 'yes') },
          {
            key: 'default',
            title: 'Default',
            isMinor: true,
            cell: (column) => <span className={styles.code}>{describeDefault(column)}</span>,
          },
          {
            key: 'references',
            title: 'References',
            isMinor: true,
            cell: (column) => {
              const target = referenceOf(column)
              return target == null ? '' : `${target.schema}.${target.name}`
            },
          },
          { key: 'comment', title: 'Comment', isMinor: true, cell: ({ comment }) => comment ?? '' },
          ...(isTable
            ? [
                {
                  key: 'actions',
                  title: <ActionsTitle />,
                  align: 'end' as const,
                  cell: (column: Column) => (
                    <span className={styles.rowActions}>
                      <Button
                        size="small"
                        aria-label={`Change ${column.name}`}
                        onClick={() => form.open(changeColumn(relation, column))}
                      >
                        Change
                      </Button>
                      <Button
                        size="small"
                        aria-label={`Drop ${column.name}`}
                        onClick={() =>
                          review({
                            title: `Drop ${column.name} of ${name}`,
                            confirmName: column.name,
                            change: { kind: 'drop_column', schema, name, column: column.name },
                          })
                        }
                      >
                        Drop
                      </Button>
                    </span>
                  ),
                },
              ]
            : []),
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
