import { useState } from 'react'
import { useLocation, useRoute } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { EmptyState, Loaded } from '../../ui/states.tsx'
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
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/webhooks' }} />
            <Button variant="primary" onClick={() => setNew(true)}>
              New webhook
            </Button>
          </>
        }
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
                rowKey={(webhook) => webhook.id}
                href={(webhook) => `/webhooks/${webhook.id}`}
                selectedKey={id}
                empty={
                  <EmptyState icon="send" action="Add the first webhook" onAct={() => setNew(true)}>
                    No webhooks yet. A webhook sends each change of a row to an address of your choice, signed
                    and retried.
                  </EmptyState>
                }
                columns={[
                  { key: 'url', title: 'URL', cell: ({ url }) => url },
                  { key: 'state', title: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
                  { key: 'events', title: 'Actions', isMinor: true, cell: ({ events }) => events.join(', ') },
                  {
                    key: 'tables',
                    title: 'Tables',
                    isMinor: true,
                    cell: ({ tables }) => (tables.length === 0 ? 'all' : tables.join(', ')),
                  },
                  {
                    key: 'created',
                    title: 'Created',
                    isMinor: true,
                    cell: ({ createdAt }) => <Time value={createdAt} />,
                  },
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
