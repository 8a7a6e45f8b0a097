import { useState } from 'react'
import { useLocation, useRoute } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { listWebhooks, type Webhook } from './api.ts'
import { EditDialog } from './edit-dialog.tsx'
import { WebhookDetail } from './webhook-detail.tsx'

export function WebhooksScreen() {
  const [, params] = useRoute('/webhooks/:id')
  const [, navigate] = useLocation()
  const [isNew, setNew] = useState(false)
  const list = useApi(['webhooks'], listWebhooks, { refetchIntervalMs: 10_000 })
  const id = params?.id
  const close = () => navigate('/webhooks')
  return (
    <>
      <PageHeader
        title="Webhooks"
        asCode={{ request: { method: 'GET', path: '/api/webhooks' } }}
        action={['New webhook', () => setNew(true)]}
      >
        Row changes, sent to receivers by HTTP POST.
      </PageHeader>
      <Loaded query={list}>
        {({ items }) => {
          const selected = items.find((webhook) => webhook.id === id)
          return (
            <>
              <DataTable
                caption="Webhooks"
                rows={items}
                href={(webhook) => `/webhooks/${webhook.id}`}
                selectedKey={id}
                empty="No webhooks yet. A webhook sends each change of a row to an address of your choice, signed and retried."
                first={['Add the first webhook', () => setNew(true)]}
                columns={[
                  ['URL', ({ url }) => url],
                  ['State', (webhook) => <WebhookState webhook={webhook} />],
                  ['Actions', ({ events }) => events.join(', '), 'minor'],
                  ['Tables', ({ tables }) => (tables.length === 0 ? 'all' : tables.join(', ')), 'minor'],
                  ['Created', ({ createdAt }) => <Time value={createdAt} />, 'minor'],
                ]}
              />
              {selected !== undefined && (
                <WebhookDetail key={selected.id} webhook={selected} onClose={close} />
              )}
            </>
          )
        }}
      </Loaded>
      {isNew && <EditDialog onClose={() => setNew(false)} />}
    </>
  )
}

export function WebhookState({ webhook: { enabled, pausedAt } }: { readonly webhook: Webhook }) {
  if (enabled) return <Badge tone="ok">Enabled</Badge>
  return pausedAt === null ? <Badge>Disabled</Badge> : <Badge tone="warning">Paused by the server</Badge>
}
