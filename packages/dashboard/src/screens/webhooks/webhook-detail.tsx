import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Switch } from '../../ui/field.tsx'
import { KeyValue, Notice, Section, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import {
  type Delivery,
  deleteWebhook,
  listDeliveries,
  replayDelivery,
  testWebhook,
  updateWebhook,
  type Webhook,
} from './api.ts'
import { EditDialog } from './edit-dialog.tsx'
import { ReplayDialog } from './replay-dialog.tsx'
import { Outcome, TrialResult, TryDialog } from './trial.tsx'

type Opened = 'edit' | 'delete' | 'replay' | undefined

/** Shows a webhook with its subscription and each attempt. */
export function WebhookDetail({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
}) {
  const [opened, setOpened] = useState<Opened>()
  const [, navigate] = useLocation()
  const { id, enabled, isOfFunction } = webhook
  const change = useAction(updateWebhook, { invalidates: [['webhooks']] })
  const test = useAction(testWebhook)

  const close = () => setOpened(undefined)
  return (
    <SidePanel title={webhook.url} size="wide" onClose={onClose}>
      <Toolbar label="Webhook">
        {!isOfFunction && (
          <>
            <Switch
              label="Enabled"
              checked={enabled}
              disabled={change.isPending}
              onChange={(isOn) => change.run({ id, enabled: isOn })}
            />
            <Button onClick={() => test.run(id)} isPending={test.isPending}>
              Send a test
            </Button>
          </>
        )}
        <Button onClick={() => setOpened('replay')}>Redeliver…</Button>
        {!isOfFunction && (
          <>
            <Button onClick={() => setOpened('edit')}>Change</Button>
            <Button variant="danger" onClick={() => setOpened('delete')}>
              Delete
            </Button>
          </>
        )}
        <AsCode
          request={{ method: 'PATCH', path: `/api/webhooks/${id}`, body: { enabled: !enabled } }}
          sql={`select * from basalt.webhook_deliveries where webhook_id = '${id}' order by delivered_at desc limit 50`}
        />
      </Toolbar>
      {webhook.pausedReason !== null && (
        <Notice tone="warning">
          Paused <Time value={webhook.pausedAt} />: {webhook.pausedReason}. New events are queued for the
          retention period of deliveries.
        </Notice>
      )}
      {test.result !== undefined && <TrialResult trial={test.result} />}
      <KeyValue
        items={{
          Actions: webhook.events.join(', '),
          Tables: webhook.tables.length === 0 ? 'all' : webhook.tables.join(', '),
          Signed: webhook.hasSecret ? 'with a secret' : 'no',
          Changed: <Time value={webhook.updatedAt} />,
        }}
      />
      <Deliveries webhookId={id} isOfFunction={isOfFunction} />
      {opened === 'edit' && <EditDialog webhook={webhook} onClose={close} />}
      {opened === 'replay' && <ReplayDialog webhookId={id} onClose={close} />}
      {opened === 'delete' && (
        <ConfirmAction
          title="Delete the webhook?"
          action="Delete webhook"
          send={() => deleteWebhook(id)}
          invalidates={[['webhooks']]}
          done="Webhook deleted."
          onDone={() => navigate('/webhooks')}
          onClose={close}
        >
          Its queued deliveries and its delivery log are deleted as well.
        </ConfirmAction>
      )}
    </SidePanel>
  )
}

function Deliveries({
  webhookId,
  isOfFunction,
}: {
  readonly webhookId: string
  readonly isOfFunction: boolean
}) {
  const [search, setSearch] = useSearchParams()
  const isFailedOnly = search.get('failed') === 'true'
  const page = Math.max(1, Number(search.get('page') ?? 1) || 1)
  const list = useApi(
    ['webhooks', webhookId, 'deliveries', isFailedOnly, page],
    (signal) => listDeliveries({ id: webhookId, isFailedOnly, page }, signal),
    { refetchIntervalMs: 5_000 },
  )
  const [shown, setShown] = useState<string>()
  const go = (next: number) => setSearch({ ...(isFailedOnly ? { failed: 'true' } : {}), page: String(next) })
  return (
    <Section
      title="Deliveries"
      actions={
        <Switch
          label="Failed only"
          checked={isFailedOnly}
          onChange={(isOn) => setSearch(isOn ? { failed: 'true' } : {})}
        />
      }
    >
      <Loaded query={list}>
        {({ items, totalPages }) => (
          <>
            <DataTable
              caption="Deliveries"
              rows={items}
              selectedKey={shown}
              isFiltered={isFailedOnly}
              empty="No deliveries yet. “Send a test” makes one, and so does each change that the webhook follows."
              columns={[
                ['Outcome', (delivery) => <Outcome attempt={delivery} />],
                ['Event', ({ eventAction, eventTable }) => `${eventAction} ${eventTable}`],
                ['Attempt', ({ attempt }) => attempt, 'end', 'minor'],
                ['Time', ({ deliveredAt }) => <Time value={deliveredAt} />],
                [
                  'Detail',
                  ({ id }) => (
                    <Button
                      size="small"
                      aria-expanded={shown === id}
                      onClick={() => setShown(shown === id ? undefined : id)}
                    >
                      {shown === id ? 'Close' : 'Show'}
                    </Button>
                  ),
                  'actions',
                ],
              ]}
            />
            {items
              .filter(({ id }) => id === shown)
              .map((delivery) => (
                <DeliveryDetail key={delivery.id} delivery={delivery} isOfFunction={isOfFunction} />
              ))}
            {totalPages > 1 && (
              <Toolbar label="Pages">
                <Button disabled={page === 1} onClick={() => go(page - 1)}>
                  Newer
                </Button>
                <span>
                  Page {page} of {totalPages}
                </span>
                <Button disabled={page >= totalPages} onClick={() => go(page + 1)}>
                  Older
                </Button>
              </Toolbar>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function DeliveryDetail({
  delivery,
  isOfFunction,
}: {
  readonly delivery: Delivery
  readonly isOfFunction: boolean
}) {
  const [isTrying, setTrying] = useState(false)
  const { id, webhookId, eventId, error, requestBody, responseBody } = delivery
  const replay = useAction(replayDelivery, {
    invalidates: [['webhooks'], ['events']],
    done: ({ success, statusCode }) =>
      `Redelivered: ${success ? 'accepted' : 'failed'} ${statusCode ?? ''}`.trim(),
  })
  return (
    <Section
      title="Delivery"
      actions={
        <Toolbar label="Delivery">
          {!isOfFunction && (
            <Button onClick={() => replay.run({ webhookId, id })} isPending={replay.isPending}>
              Redeliver
            </Button>
          )}
          <Button onClick={() => setTrying(true)}>Send to another URL…</Button>
          <AsCode request={{ method: 'POST', path: `/api/webhooks/${webhookId}/deliveries/${id}/replay` }} />
        </Toolbar>
      }
    >
      <KeyValue
        items={{
          'webhook-id': <code>{eventId}</code>,
          Error: error ?? '–',
        }}
      />
      <h3>Request</h3>
      <Code label="request body">{requestBody}</Code>
      <h3>Response</h3>
      <Code label="response">{responseBody ?? ''}</Code>
      {isTrying && <TryDialog webhookId={webhookId} deliveryId={id} onClose={() => setTrying(false)} />}
    </Section>
  )
}
