import { useLocation, useRoute, useSearchParams } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { disconnect, listConnections, listSubscriptions } from './api.ts'
import { Inspector } from './inspector.tsx'
import { PastPreview } from './past-preview.tsx'

export function RealtimeScreen() {
  const [, params] = useRoute('/realtime/:tab')
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  // The subscriber is kept when the tab changes.
  const rest = search.size === 0 ? '' : `?${search}`
  return (
    <>
      <PageHeader
        title="Realtime"
        actions={
          <AsCode
            request={{ method: 'GET', path: '/api/admin/realtime/connections' }}
            client={`import { subscribe } from '@basaltdb/client/realtime'\n\nsubscribe(client, ['posts'], { onChange: (change) => console.log(change) })`}
          />
        }
      >
        Open streams and the messages that subscribers receive.
      </PageHeader>
      <Tabs
        label="Realtime"
        value={params?.tab ?? 'connections'}
        onChange={(tab) => navigate(`${tab === 'connections' ? '/realtime' : `/realtime/${tab}`}${rest}`)}
        tabs={[
          { value: 'connections', label: 'Connections', content: <Connections /> },
          { value: 'subscriptions', label: 'Subscriptions', content: <Subscriptions /> },
          { value: 'inspector', label: 'Inspector', content: <Inspector /> },
          { value: 'preview', label: 'Preview of past events', content: <PastPreview /> },
        ]}
      />
    </>
  )
}

function Connections() {
  const list = useApi(['realtime', 'connections'], listConnections, { refetchIntervalMs: 3000 })
  const action = useAction(disconnect, { invalidates: [['realtime']], done: 'Disconnected.' })
  return (
    <Loaded query={list}>
      {({ items }) => (
        <DataTable
          caption="Connections"
          rows={items}
          rowKey={(connection) => connection.id}
          empty="No open streams."
          columns={[
            {
              key: 'user',
              title: 'User',
              cell: ({ userId }) => (userId === null ? 'no user' : <UserLink id={userId} />),
            },
            { key: 'transport', title: 'Transport', cell: ({ transport }) => <Badge>{transport}</Badge> },
            {
              key: 'to',
              title: 'Tables and channels',
              cell: ({ tables, channels }) =>
                [...tables, ...channels.map((name) => `channel ${name}`)].join(', ') || '–',
            },
            {
              key: 'address',
              title: 'Address',
              isMinor: true,
              cell: ({ address }) => <code>{address}</code>,
            },
            {
              key: 'node',
              title: 'Node',
              isMinor: true,
              cell: ({ node }) => <code>{node.slice(0, 8)}</code>,
            },
            {
              key: 'since',
              title: 'Since',
              isMinor: true,
              cell: ({ connectedAt }) => <Time value={connectedAt} />,
            },
            {
              key: 'end',
              title: <span className="visually-hidden">Actions</span>,
              align: 'end',
              cell: ({ id }) => (
                <Button size="small" onClick={() => action.run(id)}>
                  Disconnect
                </Button>
              ),
            },
          ]}
        />
      )}
    </Loaded>
  )
}

function Subscriptions() {
  const list = useApi(['realtime', 'subscriptions'], listSubscriptions, { refetchIntervalMs: 3000 })
  return (
    <Loaded query={list}>
      {({ items }) => (
        <DataTable
          caption="Subscriptions"
          rows={items}
          rowKey={({ kind, name }) => `${kind} ${name}`}
          empty="No subscriptions."
          columns={[
            { key: 'name', title: 'Name', cell: ({ name }) => name },
            { key: 'kind', title: 'Kind', cell: ({ kind }) => kind },
            {
              key: 'connections',
              title: 'Connections',
              align: 'end',
              cell: ({ connections }) => connections,
            },
          ]}
        />
      )}
    </Loaded>
  )
}
