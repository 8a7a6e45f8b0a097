import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { ActionsTitle } from '../actions-title.tsx'
import { type DatabaseFunction, readObjects } from '../api.ts'
import { useForm } from '../forms/form.tsx'
import { createFunction, writeSql } from '../forms/sql.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function FunctionsView() {
  const objects = useApi(['structure', 'objects'], readObjects)
  const review = useReview()
  const form = useForm()
  return (
    <>
      <Toolbar label="Functions">
        <Button onClick={() => form.open(createFunction)}>Create a function</Button>
      </Toolbar>
      <Loaded query={objects}>
        {({ functions }) => (
          <DataTable
            caption="Functions"
            rows={functions}
            rowKey={signatureOf}
            empty="No functions."
            columns={[
              {
                key: 'name',
                title: 'Name',
                cell: (item) => <span className={styles.code}>{signatureOf(item)}</span>,
              },
              { key: 'returns', title: 'Returns', isMinor: true, cell: ({ returns }) => returns ?? '' },
              { key: 'language', title: 'Language', isMinor: true, cell: ({ language }) => language },
              {
                key: 'rights',
                title: 'Runs as',
                cell: ({ isSecurityDefiner }) =>
                  isSecurityDefiner ? <Badge tone="warning">owner</Badge> : 'caller',
              },
              {
                key: 'actions',
                title: <ActionsTitle />,
                align: 'end',
                cell: (item) => (
                  <span className={styles.rowActions}>
                    {item.definition !== null && (
                      <Button
                        size="small"
                        aria-label={`Change ${item.name}`}
                        onClick={() => form.open(writeSql(`Change ${item.name}`, item.definition ?? ''))}
                      >
                        Change
                      </Button>
                    )}
                    <Button
                      size="small"
                      aria-label={`Drop ${item.name}`}
                      onClick={() =>
                        review({
                          title: `Drop ${item.name}`,
                          confirmName: item.name,
                          change: {
                            kind: 'drop_function',
                            schema: item.schema,
                            name: item.name,
                            arguments: item.arguments,
                            functionKind: item.kind,
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
        )}
      </Loaded>
      {form.dialog}
    </>
  )
}

function signatureOf({ schema, name, arguments: list }: DatabaseFunction): string {
  return `${schema === 'public' ? '' : `${schema}.`}${name}(${list})`
}
