import { Button } from '../../../ui/button.tsx'
import { DataTable } from '../../../ui/data-table.tsx'
import { Badge, Notice, Toolbar } from '../../../ui/layout.tsx'
import { quoteName } from '../../../ui/sql.ts'
import { ActionsTitle } from '../actions-title.tsx'
import type { Relation } from '../api.ts'
import { useForm } from '../forms/form.tsx'
import { createTrigger } from '../forms/sql.tsx'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'

export function TriggersTab({ relation }: { readonly relation: Relation }) {
  const { schema, name, triggers, eventGap } = relation
  const form = useForm()
  const review = useReview()
  return (
    <>
      <Notice tone={eventGap === null ? 'ok' : 'warning'}>
        {eventGap === null
          ? 'Streams and webhooks of this table receive writes of all kinds, also by SQL.'
          : `Streams and webhooks of this table receive only writes by the API: ${eventGap}.`}
      </Notice>
      <Toolbar label="Triggers">
        <Button onClick={() => form.open(createTrigger([schema, name].map(quoteName).join('.')))}>
          Create a trigger
        </Button>
      </Toolbar>
      <DataTable
        caption="Triggers"
        rows={triggers}
        rowKey={(trigger) => trigger.name}
        empty="The table has no triggers."
        columns={[
          {
            key: 'name',
            title: 'Name',
            cell: ({ name: of, isEnabled }) => (
              <>
                {of} {!isEnabled && <Badge tone="warning">disabled</Badge>}
              </>
            ),
          },
          {
            key: 'definition',
            title: 'Definition',
            cell: ({ definition }) => <span className={styles.code}>{definition}</span>,
          },
          {
            key: 'actions',
            title: <ActionsTitle />,
            align: 'end',
            cell: ({ name: trigger, isEnabled }) => (
              <span className={styles.rowActions}>
                <Button
                  size="small"
                  aria-label={`${isEnabled ? 'Disable' : 'Enable'} ${trigger}`}
                  onClick={() =>
                    review({
                      title: `${isEnabled ? 'Disable' : 'Enable'} ${trigger} of ${name}`,
                      change: { kind: 'set_trigger', schema, name, trigger, isEnabled: !isEnabled },
                    })
                  }
                >
                  {isEnabled ? 'Disable' : 'Enable'}
                </Button>
                <Button
                  size="small"
                  aria-label={`Drop ${trigger}`}
                  onClick={() =>
                    review({
                      title: `Drop ${trigger} of ${name}`,
                      confirmName: trigger,
                      change: { kind: 'drop_trigger', schema, name, trigger },
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
