import { useState } from 'react'
import { useLocation, useRoute, useSearchParams } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { usePages } from '../../api/queries.ts'
import { Switch } from '../../ui/field.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { choicesOf, Filters } from '../activity/filters.tsx'
import { UserLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { filterNames, type ListedEvent, listEvents } from './api.ts'
import { EventDetail } from './event-detail.tsx'
import styles from './events.module.css'

const actions = choicesOf('All actions', ['create', 'update', 'delete'])

export function EventsScreen() {
  const filters = useFilters([...filterNames, 'follow'])
  const [search] = useSearchParams()
  const [, params] = useRoute('/events/:id')
  const [, navigate] = useLocation()
  const [keptSince, setKeptSince] = useState<string | null>(null)
  const { follow, ...filter } = filters.settled
  const mayReadKeys = usePermissions()('bodies.read')
  const isFollowing = follow === 'true'
  const list = usePages(
    ['events', filter],
    async (cursor, signal) => {
      const { items, nextCursor, searchedTo, keptSince } = await listEvents(
        withInstants(filter),
        cursor,
        signal,
      )
      setKeptSince(keptSince)
      return { items, next: nextCursor, searchedTo: searchedTo ?? undefined }
    },
    { refetchIntervalMs: isFollowing ? 1500 : undefined },
  )
  const rest = search.size === 0 ? '' : `?${search}`
  return (
    <>
      <PageHeader
        title="Events"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/events', withInstants(filter)) },
          sql: 'select id, happened_at, action, table_name, record_key, origin from basalt.outbox order by id desc limit 50',
        }}
      >
        Changes with at least one listener, and the deliveries and jobs that followed.
      </PageHeader>
      <Filters
        label="Events"
        filters={filters}
        fields={[
          { name: 'table', label: 'Table' },
          ...(mayReadKeys ? [{ name: 'record', label: 'Record' } as const] : []),
          { name: 'user_id', label: 'User id' },
          { name: 'request_id', label: 'Request id' },
          { name: 'action', label: 'Action', choices: actions },
        ]}
        range={['since', 'until']}
      >
        <Switch
          label="Follow"
          checked={isFollowing}
          onChange={(isOn) => filters.set({ follow: isOn ? 'true' : undefined })}
        />
      </Filters>
      <List
        caption="Events"
        of={list}
        href={(event) => `/events/${event.id}${rest}`}
        selectedKey={params?.id}
        isFiltered={filters.isFiltered}
        empty="No events yet. The log has the changes to which a webhook, a stream or an embedding subscribes."
        first={['Add a webhook', '/webhooks', 'owner']}
        columns={[
          [
            'Change',
            ({ action, table, record }) => `${action} ${table}${record === null ? '' : ` ${record}`}`,
          ],
          ['Webhooks', (event) => <Deliveries event={event} />],
          ['By', ({ actor, userId }) => (userId === null ? actor : <UserLink id={userId} />), 'minor'],
          [
            'Request',
            ({ requestId }) => (requestId === null ? '–' : <code>{requestId}</code>),
            'cut',
            'minor',
          ],
          ['Time', ({ happenedAt }) => <Time value={happenedAt} />],
        ]}
      >
        {keptSince !== null && (
          <p className={styles.kept}>
            The log starts at <Time value={keptSince} />.
          </p>
        )}
      </List>
      {params !== null && params.id !== undefined && (
        <EventDetail key={params.id} id={params.id} onClose={() => navigate(`/events${rest}`)} />
      )}
    </>
  )
}

function Deliveries({ event: { deliveries } }: { readonly event: ListedEvent }) {
  const { delivered, failed, pending } = deliveries
  if (delivered + failed + pending === 0) return <>none</>
  return (
    <>
      {delivered > 0 && <Badge tone="ok">{delivered} delivered</Badge>}{' '}
      {failed > 0 && <Badge tone="danger">{failed} failed</Badge>}{' '}
      {pending > 0 && <Badge tone="warning">{pending} pending</Badge>}
    </>
  )
}
