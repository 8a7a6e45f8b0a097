import { Button } from '../../../ui/button.tsx'
import { DataTable, RowActions } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import type { Relation } from '../api.ts'
import { addConstraint } from '../forms/add-constraint.ts'
import { useForm } from '../forms/form.tsx'
import { rename } from '../forms/rename.ts'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function ConstraintsTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, constraints } = relation
  const form = useForm()
  const review = useReview()
  return (
    <>
      <Toolbar label="Constraints">
        <Button needs="change" onClick={() => form.open(addConstraint(relation))}>
          Add a constraint
        </Button>
      </Toolbar>
      <DataTable
        caption="Constraints"
        rows={constraints}
        rowKey={(constraint) => constraint.name}
        empty="No constraints yet. PostgreSQL refuses rows that break one, however they are written."
        first={['Add the first constraint', () => form.open(addConstraint(relation))]}
        columns={[
          [
            'Name',
            (constraint) => (
              <>
                <span className={styles.code}>{constraint.name}</span>{' '}
                {!constraint.isValidated && <Badge tone="warning">not yet valid for old rows</Badge>}
              </>
            ),
          ],
          ['Kind', ({ kind }) => kind, 'minor'],
          ['Definition', ({ definition }) => <span className={styles.code}>{definition}</span>],
          [
            'Actions',
            (constraint) => (
              <RowActions
                of={constraint.name}
                actions={[
                  !constraint.isValidated && [
                    'Validate',
                    () =>
                      review({
                        title: `Validate ${constraint.name}`,
                        change: { kind: 'validate_constraint', schema, name, constraint: constraint.name },
                      }),
                  ],
                  [
                    'Rename',
                    () =>
                      form.open(
                        rename(constraint.name, {
                          kind: 'rename_constraint',
                          schema,
                          name,
                          constraint: constraint.name,
                        }),
                      ),
                  ],
                  [
                    'Drop',
                    () =>
                      review({
                        title: `Drop ${constraint.name} of ${name}`,
                        confirmName: constraint.name,
                        change: { kind: 'drop_constraint', schema, name, constraint: constraint.name },
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
