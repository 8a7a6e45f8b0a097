import { Button } from '../../../ui/button.tsx'
import { DataTable, RowActions } from '../../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../../ui/format.ts'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
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
        <Button needs="change" onClick={() => form.open(createIndex(relation))}>
          Create an index
        </Button>
      </Toolbar>
      <DataTable
        caption="Indexes"
        rows={relation.indexes}
        rowKey={({ name }) => name}
        empty="No indexes yet. An index finds rows by its columns without reading the whole table."
        first={['Create the first index', () => form.open(createIndex(relation))]}
        columns={[
          [
            'Name',
            ({ name, isUnique, isValid, constraint }) => (
              <>
                <span className={styles.code}>{name}</span>{' '}
                <span className={styles.badges}>
                  {isUnique && <Badge>unique</Badge>}
                  {constraint !== null && <Badge>constraint</Badge>}
                  {!isValid && <Badge tone="danger">invalid: drop it</Badge>}
                </span>
              </>
            ),
          ],
          [
            'Definition',
            ({ definition }) => <span className={styles.code}>{definition.replace(/^.*? USING /, '')}</span>,
            'minor',
          ],
          ['Size', ({ bytes }) => formatBytes(bytes), 'end'],
          ['Used', ({ scans }) => `${formatNumber(scans)} times`, 'end'],
          [
            'Actions',
            ({ name, constraint }) =>
              // The index of a constraint is dropped with the constraint, on its own tab.
              constraint === null && (
                <RowActions
                  of={name}
                  actions={[
                    [
                      'Drop',
                      () =>
                        review({
                          title: `Drop ${name}`,
                          change: { kind: 'drop_index', schema: relation.schema, name, isConcurrent: true },
                        }),
                    ],
                  ]}
                />
              ),
            'actions',
          ],
        ]}
      />
      {form.dialog}
    </>
  )
}
