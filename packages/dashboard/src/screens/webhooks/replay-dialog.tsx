import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Form } from '../../ui/layout.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import { type ReplayRange, replayRange } from './api.ts'

const limit = 1000

/** Delivers a range of events again, after it has said how many. */
export function ReplayDialog({
  webhookId,
  onClose,
}: {
  readonly webhookId: string
  readonly onClose: () => void
}) {
  const [which, setWhich] = useState<ReplayRange['which']>('failed')
  const [since, setSince] = useState('')
  const [until, setUntil] = useState('')
  const range = { which, since: toInstant(since), until: toInstant(until), limit }
  const count = useApi(['webhooks', webhookId, 'replay', range], () =>
    replayRange({ id: webhookId, ...range, dryRun: true }),
  )
  const action = useAction(replayRange, {
    invalidates: [['webhooks'], ['events']],
    failure: 'view',
    done: ({ queued }) => `${countOf(queued, 'event')} queued.`,
    onDone: onClose,
  })
  return (
    <Dialog title="Deliver events again" isOpen onClose={onClose}>
      <Form onSubmit={() => action.run({ id: webhookId, ...range })}>
        <Select
          label="Which"
          value={which}
          onChange={setWhich}
          choices={[
            { value: 'failed', label: 'Failed: no attempt has succeeded' },
            { value: 'delivered', label: 'All that were tried' },
            { value: 'missed', label: 'Missed: in the log, never queued for this webhook' },
          ]}
        />
        <TextField label="From" type="datetime-local" value={since} onChange={setSince} />
        <TextField label="To" type="datetime-local" value={until} onChange={setUntil} />
        <Loaded query={count}>
          {({ queued, hasMore }) => (
            <p role="status">
              {countOf(queued, 'event')}
              {hasMore ? ', and there are more: the oldest come first' : ''}.
            </p>
          )}
        </Loaded>
        {action.error !== null && <Failure error={action.error} />}
        <div>
          <Button
            type="submit"
            look="primary"
            isPending={action.isPending}
            disabled={count.data === undefined || count.data.queued === 0}
          >
            Deliver again
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}

/** Of a field in the browser's zone. */
export function toInstant(local: string): string | undefined {
  const instant = local === '' ? undefined : new Date(local)
  return instant === undefined || Number.isNaN(instant.valueOf()) ? undefined : instant.toISOString()
}
