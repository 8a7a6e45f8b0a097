import { Button } from '../../../ui/button.tsx'
import { DataTable, RowActions } from '../../../ui/data-table.tsx'
import { Badge, Notice, Toolbar } from '../../../ui/layout.tsx'
import { quoteName } from '../../../ui/sql.ts'
import type { Relation } from '../api.ts'
import { useForm } from '../forms/form.tsx'
import { createTrigger } from '../forms/sql.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function TriggersTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, triggers, eventGap } = relation
  const form = useForm()
  const review = useReview()
  const create = () => form.open(createTrigger([schema, name].map(quoteName).join('.')))
  return (
    <>
      <Notice tone={eventGap === null ? 'ok' : 'warning'}>
        {eventGap === null
          ? 'Streams and webhooks of this table receive writes of all kinds, also by SQL.'
          : `Streams and webhooks of this table receive only writes by the API: ${eventGap}.`}
      </Notice>
      <Toolbar label="Triggers">
        <Button needs="owner" onClick={create}>
          Create a trigger
        </Button>
      </Toolbar>
      <DataTable
        caption="Triggers"
        rows={triggers}
        rowKey={(trigger) => trigger.name}
        empty="No triggers yet. A trigger runs a function of the database with every write, such as a timestamp."
        first={['Create the first trigger', create, 'owner']}
        columns={[
          [
            'Name',
            ({ name: of, isEnabled }) => (
              <>
                {of} {!isEnabled && <Badge tone="warning">disabled</Badge>}
              </>
            ),
          ],
          ['Definition', ({ definition }) => <span className={styles.code}>{definition}</span>],
          [
            'Actions',
            ({ name: trigger, isEnabled }) => (
              <RowActions
                of={trigger}
                actions={[
                  [
                    isEnabled ? 'Disable' : 'Enable',
                    () =>
                      review({
                        title: `${isEnabled ? 'Disable' : 'Enable'} ${trigger} of ${name}`,
                        change: { kind: 'set_trigger', schema, name, trigger, isEnabled: !isEnabled },
                      }),
                    'owner',
                  ],
                  [
                    'Drop',
                    () =>
                      review({
                        title: `Drop ${trigger} of ${name}`,
                        confirmName: trigger,
                        change: { kind: 'drop_trigger', schema, name, trigger },
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
