import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import { ActionsTitle } from '../actions-title.tsx'
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
        <Button onClick={() => form.open(addConstraint(relation))}>Add a constraint</Button>
      </Toolbar>
      <DataTable
        caption="Constraints"
        rows={constraints}
        rowKey={(constraint) => constraint.name}
        empty="The table has no constraints."
        columns={[
          {
            key: 'name',
            title: 'Name',
            cell: (constraint) => (
              <>
                <span className={styles.code}>{constraint.name}</span>{' '}
                {!constraint.isValidated && <Badge tone="warning">not yet valid for old rows</Badge>}
              </>
            ),
          },
          { key: 'kind', title: 'Kind', isMinor: true, cell: ({ kind }) => kind },
          {
            key: 'definition',
            title: 'Definition',
            cell: ({ definition }) => <span className={styles.code}>{definition}</span>,
          },
          {
            key: 'actions',
            title: <ActionsTitle />,
            align: 'end',
            cell: (constraint) => (
              <span className={styles.rowActions}>
                {!constraint.isValidated && (
                  <Button
                    size="small"
                    aria-label={`Validate ${constraint.name}`}
                    onClick={() =>
                      review({
                        title: `Validate ${constraint.name}`,
                        change: { kind: 'validate_constraint', schema, name, constraint: constraint.name },
                      })
                    }
                  >
                    Validate
                  </Button>
                )}
                <Button
                  size="small"
                  aria-label={`Rename ${constraint.name}`}
                  onClick={() =>
                    form.open(
                      rename(constraint.name, {
                        kind: 'rename_constraint',
                        schema,
                        name,
                        constraint: constraint.name,
                      }),
                    )
                  }
                >
                  Rename
                </Button>
                <Button
                  size="small"
                  aria-label={`Drop ${constraint.name}`}
                  onClick={() =>
                    review({
                      title: `Drop ${constraint.name} of ${name}`,
                      confirmName: constraint.name,
                      change: { kind: 'drop_constraint', schema, name, constraint: constraint.name },
                    })
                  }
                >
                  Drop
                </Button>
              </span>
            ),
          },
        ]}
      />
      {form.dialog}
    </>
  )
}
