import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import { ActionsTitle } from '../actions-title.tsx'
import type { Constraint, Relation } from '../api.ts'
import { ConstraintForm } from '../forms/constraint-form.tsx'
import { RenameForm } from '../forms/rename-form.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function ConstraintsTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, constraints } = relation
  const [isAdding, setAdding] = useState(false)
  const [renamed, setRenamed] = useState<Constraint>()
  const review = useReview()
  return (
    <>
      <Toolbar label="Constraints">
        <Button onClick={() => setAdding(true)}>Add a constraint</Button>
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
                {!constraint.isValidated && <Badge tone="warning">not valid for old rows yet</Badge>}
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
                        source: {
                          change: { kind: 'validate_constraint', schema, name, constraint: constraint.name },
                        },
                      })
                    }
                  >
                    Validate
                  </Button>
                )}
                <Button
                  size="small"
                  aria-label={`Rename ${constraint.name}`}
                  onClick={() => setRenamed(constraint)}
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
                      source: {
                        change: { kind: 'drop_constraint', schema, name, constraint: constraint.name },
                      },
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
      {isAdding && <ConstraintForm relation={relation} onClose={() => setAdding(false)} />}
      {renamed !== undefined && (
        <RenameForm
          title={`Rename ${renamed.name}`}
          name={renamed.name}
          change={(to) => ({ kind: 'rename_constraint', schema, name, constraint: renamed.name, to })}
          onClose={() => setRenamed(undefined)}
        />
      )}
    </>
  )
}
