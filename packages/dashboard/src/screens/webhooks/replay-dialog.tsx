import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Form } from '../../ui/layout.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import { toInstant } from '../../ui/time-range.tsx'
import { showToast } from '../../ui/toasts.ts'
import { type ReplayRange, replayRange } from './api.ts'

/** Default number of events for each request. */
const usual = '1000'

/** Redelivers a range of events after showing their number. A range that exceeds one request is continued. */
export function ReplayDialog({
  webhookId,
  onClose,
}: {
  readonly webhookId: string
  readonly onClose: () => void
}) {
  const [which, setWhich] = useState<NonNullable<ReplayRange['which']>>('failed')
  const [since, setSince] = useState('')
  const [until, setUntil] = useState('')
  const [limit, setLimit] = useState(usual)
  /** Progress of the current range: number of queued events and the cursor to continue from. */
  const [reached, setReached] = useState<{ readonly queued: number; readonly cursor: string }>()
  const range = {
    ...{ which, since: toInstant(since), until: toInstant(until), cursor: reached?.cursor },
    limit: Number(limit) || Number(usual),
  }
  const count = useApi(['webhooks', webhookId, 'replay', range], () =>
    replayRange({ id: webhookId, ...range, dryRun: true }),
  )
  const action = useAction(replayRange, {
    invalidates: [['webhooks'], ['events']],
    failure: 'view',
    onDone({ queued, nextCursor }) {
      const total = (reached?.queued ?? 0) + queued
      if (nextCursor !== undefined) return setReached({ queued: total, cursor: nextCursor })
      showToast(`${countOf(total, 'event')} queued.`)
      onClose()
    },
  })
  /** Restarts a changed range from its beginning. */
  const enter =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value)
      setReached(undefined)
    }
  const rest = reached === undefined ? '' : ' more'
  const isDone = reached !== undefined && count.data?.queued === 0
  return (
    <Dialog title="Redeliver events" isOpen onClose={onClose}>
      <Form onSubmit={() => action.run({ id: webhookId, ...range })}>
        <Select
          label="Events"
          value={which}
          onChange={enter(setWhich)}
          choices={[
            { value: 'failed', label: 'Failed: no attempt has succeeded' },
            { value: 'delivered', label: 'All attempted events' },
            { value: 'missed', label: 'Missed: in the log, but never queued for this webhook' },
          ]}
        />
        <TextField label="From" type="datetime-local" value={since} onChange={enter(setSince)} />
        <TextField label="To" type="datetime-local" value={until} onChange={enter(setUntil)} />
        <TextField
          label="Batch size"
          hint="The oldest events come first. Continue queues the next ones."
          type="number"
          min={1}
          max={10_000}
          value={limit}
          onChange={setLimit}
        />
        <div role="status">
          {reached !== undefined && <p>{countOf(reached.queued, 'event')} queued.</p>}
          <Loaded query={count}>
            {({ queued, hasMore }) => (
              <p>
                {hasMore ? 'At least ' : ''}
                {countOf(queued, 'event')}
                {rest}.
              </p>
            )}
          </Loaded>
        </div>
        {action.error !== null && <Failure error={action.error} />}
        <div>
          {isDone ? (
            <Button variant="primary" onClick={onClose}>
              Close
            </Button>
          ) : (
            <Button
              type="submit"
              variant="primary"
              isPending={action.isPending}
              disabled={count.data === undefined || count.data.queued === 0}
            >
              {reached === undefined ? 'Redeliver' : 'Continue'}
            </Button>
          )}
        </div>
      </Form>
    </Dialog>
  )
}
