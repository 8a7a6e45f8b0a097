import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../../ui/format.ts'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import { ActionsTitle } from '../actions-title.tsx'
import type { Relation } from '../api.ts'
import { createIndex } from '../forms/create-index.ts'
import { useForm } from '../forms/form.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function IndexesTab({ relation }: { readonly relation: Relation }) {
  const form = useForm()
  const review = useReview()
  return (
    <>
      <Toolbar label="Indexes">
        <Button onClick={() => form.open(createIndex(relation))}>Create an index</Button>
      </Toolbar>
      <DataTable
        caption="Indexes"
        rows={relation.indexes}
        rowKey={({ name }) => name}
        empty="The table has no indexes."
        columns={[
          {
            key: 'name',
            title: 'Name',
            cell: ({ name, isUnique, isValid, constraint }) => (
              <>
                <span className={styles.code}>{name}</span>{' '}
                <span className={styles.badges}>
                  {isUnique && <Badge>unique</Badge>}
                  {constraint !== null && <Badge>constraint</Badge>}
                  {!isValid && <Badge tone="danger">invalid: drop it</Badge>}
                </span>
              </>
            ),
          },
          {
            key: 'definition',
            title: 'Definition',
            isMinor: true,
            cell: ({ definition }) => (
              <span className={styles.code}>{definition.replace(/^.*? USING /, '')}</span>
            ),
          },
          { key: 'bytes', title: 'Size', align: 'end', cell: ({ bytes }) => formatBytes(bytes) },
          { key: 'scans', title: 'Used', align: 'end', cell: ({ scans }) => `${formatNumber(scans)} times` },
          {
            key: 'actions',
            title: <ActionsTitle />,
            align: 'end',
            cell: ({ name, constraint }) =>
              // The index of a constraint is dropped with the constraint, on its own tab.
              constraint === null && (
                <Button
                  size="small"
                  aria-label={`Drop ${name}`}
                  onClick={() =>
                    review({
                      title: `Drop ${name}`,
                      change: { kind: 'drop_index', schema: relation.schema, name, isConcurrent: true },
                    })
                  }
                >
                  Drop
                </Button>
              ),
          },
        ]}
      />
      {form.dialog}
    </>
  )
}
