import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { choice, DraftFields, text, valueIn } from '../../ui/fields.tsx'
import { countOf } from '../../ui/format.ts'
import { Form } from '../../ui/layout.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import { toInstant } from '../../ui/time-range.tsx'
import { showToast } from '../../ui/toasts.ts'
import { replayRange } from './api.ts'

/** Default number of events for each request. */
const usual = '1000'

const choices = [
  { value: 'failed', label: 'Failed: no attempt has succeeded' },
  { value: 'delivered', label: 'All attempted events' },
  { value: 'missed', label: 'Missed: in the log, but never queued for this webhook' },
] as const

/** Redelivers a range of events after showing their number. A range that exceeds one request is continued. */
export function ReplayDialog({
  webhookId,
  onClose,
}: {
  readonly webhookId: string
  readonly onClose: () => void
}) {
  const [draft, setDraft] = useState({
    which: valueIn(choices, 'failed'),
    since: '',
    until: '',
    limit: usual,
  })
  /** Progress of the current range: number of queued events and the cursor to continue from. */
  const [reached, setReached] = useState<{ readonly queued: number; readonly cursor: string }>()
  const range = {
    ...{ which: draft.which, since: toInstant(draft.since), until: toInstant(draft.until) },
    ...{ cursor: reached?.cursor, limit: Number(draft.limit) || Number(usual) },
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
  const rest = reached === undefined ? '' : ' more'
  const isDone = reached !== undefined && count.data?.queued === 0
  return (
    <Dialog title="Redeliver events" isOpen onClose={onClose}>
      <Form onSubmit={() => action.run({ id: webhookId, ...range })}>
        <DraftFields
          value={draft}
          onChange={(next) => {
            setDraft(next)
            // A changed range starts from its beginning.
            if (next.limit === draft.limit) setReached(undefined)
          }}
          fields={() => ({
            which: choice('Events', choices),
            since: text('From', { type: 'datetime-local' }),
            until: text('To', { type: 'datetime-local' }),
            limit: text('Batch size', {
              ...{ type: 'number', min: 1, max: 10_000 },
              hint: 'The oldest events come first. Continue queues the next ones.',
            }),
          })}
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
