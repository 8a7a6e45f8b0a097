import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { RowActions } from '../../../ui/data-table.tsx'
import { Badge, Toolbar } from '../../../ui/layout.tsx'
import { List, rowsOf } from '../../../ui/list.tsx'
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
        <Button needs="owner" onClick={() => form.open(createFunction)}>
          Create a function
        </Button>
      </Toolbar>
      <List
        caption="Functions"
        of={rowsOf(objects, ({ functions }) => functions)}
        rowKey={signatureOf}
        empty="No functions yet. Each function is served by the API, with the rights of its caller."
        first={['Create the first function', () => form.open(createFunction), 'owner']}
        example={[`await client.rpc('count_todo')`, 'Call in your app']}
        columns={[
          ['Name', (item) => <span className={styles.code}>{signatureOf(item)}</span>],
          ['Returns', ({ returns }) => returns ?? '', 'minor'],
          ['Language', ({ language }) => language, 'minor'],
          [
            'Runs as',
            ({ isSecurityDefiner }) => (isSecurityDefiner ? <Badge tone="warning">owner</Badge> : 'caller'),
          ],
          [
            'Actions',
            (item) => (
              <RowActions
                of={item.name}
                actions={[
                  item.definition !== null && [
                    'Change',
                    () => form.open(writeSql(`Change ${item.name}`, item.definition ?? '')),
                    'owner',
                  ],
                  [
                    'Drop',
                    () =>
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
                      }),
                    'owner',
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

function signatureOf({ schema, name, arguments: list }: DatabaseFunction): string {
  return `${schema === 'public' ? '' : `${schema}.`}${name}(${list})`
}
