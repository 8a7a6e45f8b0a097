import { useLocation, useRoute, useSearchParams } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { RowActions } from '../../ui/data-table.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { disconnect, listConnections, listSubscriptions } from './api.ts'
import { Inspector } from './inspector.tsx'
import { PastPreview } from './past-preview.tsx'

const subscription = `import { subscribe } from '@basaltdb/client/realtime'

subscribe(client, ['posts'], { onChange: (change) => console.log(change) })`

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
        asCode={{
          request: { method: 'GET', path: '/api/admin/realtime/connections' },
          client: subscription,
        }}
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
          { value: 'inspector', label: 'Inspector', content: <Inspector />, needs: 'access.explain' },
          {
            value: 'preview',
            label: 'Preview of past events',
            content: <PastPreview />,
            needs: 'access.explain',
          },
        ]}
      />
    </>
  )
}

function Connections() {
  const list = useApi(['realtime', 'connections'], listConnections, { refetchIntervalMs: 3000 })
  const action = useAction(disconnect, { invalidates: [['realtime']], done: 'Disconnected.' })
  return (
    <List
      caption="Connections"
      of={list}
      empty="No open streams. An app opens one when it subscribes to a table or a channel."
      first={['Inspect a stream', '/realtime/inspector', 'access.explain']}
      example={[subscription]}
      columns={[
        ['User', ({ userId }) => (userId === null ? 'no user' : <UserLink id={userId} />)],
        ['Transport', ({ transport }) => <Badge>{transport}</Badge>],
        [
          'Tables and channels',
          ({ tables, channels }) =>
            [...tables, ...channels.map((name) => `channel ${name}`)].join(', ') || '–',
        ],
        ['Address', ({ address }) => <code>{address}</code>, 'minor'],
        ['Node', ({ node }) => <code>{node.slice(0, 8)}</code>, 'minor'],
        ['Since', ({ connectedAt }) => <Time value={connectedAt} />, 'minor'],
        [
          'Actions',
          ({ id, address }) => <RowActions of={address} actions={[['Disconnect', () => action.run(id)]]} />,
          'actions',
        ],
      ]}
    />
  )
}

function Subscriptions() {
  const list = useApi(['realtime', 'subscriptions'], listSubscriptions, { refetchIntervalMs: 3000 })
  return (
    <List
      caption="Subscriptions"
      of={list}
      rowKey={({ kind, name }) => `${kind} ${name}`}
      empty="No subscriptions. The tables and channels of the open streams are counted here."
      example={[subscription]}
      columns={[
        ['Name', ({ name }) => name],
        ['Kind', ({ kind }) => kind],
        ['Connections', ({ connections }) => connections, 'end'],
      ]}
    />
  )
}
