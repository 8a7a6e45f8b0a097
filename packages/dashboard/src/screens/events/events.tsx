import { useState } from 'react'
import { useLocation, useRoute, useSearchParams } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select, Switch, TextField } from '../../ui/field.tsx'
import { Badge, FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { SearchedTo } from '../../ui/searched-to.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { toInstant } from '../webhooks/replay-dialog.tsx'
import { type EventFilter, filterNames, type ListedEvent, listEvents } from './api.ts'
import { EventDetail } from './event-detail.tsx'
import styles from './events.module.css'

export function EventsScreen() {
  const [search, setSearch] = useSearchParams()
  const [, params] = useRoute('/events/:id')
  const [, navigate] = useLocation()
  const [keptSince, setKeptSince] = useState<string | null>(null)
  const isFollowing = search.get('follow') === 'true'
  const filter: EventFilter = Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = search.get(name)
      return value === null || value === '' ? [] : [[name, value]]
    }),
  )
  const set = (name: string, value: string) =>
    setSearch((current) => withParameters(current, { [name]: value }), { replace: true })
  const list = usePages(
    ['events', filter],
    async (cursor, signal) => {
      const { items, nextCursor, searchedTo, keptSince } = await listEvents(filter, cursor, signal)
      setKeptSince(keptSince)
      return { items, next: nextCursor, searchedTo: searchedTo ?? undefined }
    },
    { refetchIntervalMs: isFollowing ? 1500 : undefined },
  )
  const query = new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ).toString()
  const rest = search.size === 0 ? '' : `?${search}`
  return (
    <>
      <PageHeader
        title="Events"
        actions={
          <AsCode
            request={{ method: 'GET', path: `/api/admin/events${query === '' ? '' : `?${query}`}` }}
            sql="select id, happened_at, action, table_name, record_key, origin from basalt.outbox order by id desc limit 50"
          />
        }
      >
        Changes with at least one listener, and the deliveries and jobs that followed.
      </PageHeader>
      <Toolbar label="Events">
        <FilterField label="Table" value={filter.table ?? ''} onChange={(text) => set('table', text)} />
        <FilterField label="Record" value={filter.record ?? ''} onChange={(text) => set('record', text)} />
        <FilterField label="User id" value={filter.user_id ?? ''} onChange={(text) => set('user_id', text)} />
        <FilterField
          label="Request id"
          value={filter.request_id ?? ''}
          onChange={(text) => set('request_id', text)}
        />
        <Select
          label="Action"
          hidesLabel
          value={filter.action ?? ''}
          onChange={(value) => set('action', value)}
          choices={[
            { value: '', label: 'All actions' },
            { value: 'create', label: 'create' },
            { value: 'update', label: 'update' },
            { value: 'delete', label: 'delete' },
          ]}
        />
        <Moment label="From" value={filter.since} onChange={(value) => set('since', value)} />
        <Moment label="To" value={filter.until} onChange={(value) => set('until', value)} />
        <Switch label="Follow" checked={isFollowing} onChange={(isOn) => set('follow', isOn ? 'true' : '')} />
      </Toolbar>
      <LoadedRows list={list}>
        {(rows) => (
          <>
            <DataTable
              caption="Events"
              rows={rows}
              rowKey={(event) => event.id}
              href={(event) => `/events/${event.id}${rest}`}
              selectedKey={params?.id}
              empty="No matching events. The log has the changes to which a webhook, a stream or an embedding subscribes."
              columns={[
                {
                  key: 'what',
                  title: 'Change',
                  cell: ({ action, table, record }) =>
                    `${action} ${table}${record === null ? '' : ` ${record}`}`,
                },
                { key: 'webhooks', title: 'Webhooks', cell: (event) => <Deliveries event={event} /> },
                {
                  key: 'who',
                  title: 'By',
                  isMinor: true,
                  cell: ({ actor, userId }) => (userId === null ? actor : <UserLink id={userId} />),
                },
                {
                  key: 'request',
                  title: 'Request',
                  isMinor: true,
                  isCut: true,
                  cell: ({ requestId }) => (requestId === null ? '–' : <code>{requestId}</code>),
                },
                { key: 'time', title: 'Time', cell: ({ happenedAt }) => <Time value={happenedAt} /> },
              ]}
              {...moreOf(list)}
            />
            <SearchedTo list={list} />
            {keptSince !== null && (
              <p className={styles.kept}>
                The log starts at <Time value={keptSince} />.
              </p>
            )}
          </>
        )}
      </LoadedRows>
      {params !== null && params.id !== undefined && (
        <EventDetail key={params.id} id={params.id} onClose={() => navigate(`/events${rest}`)} />
      )}
    </>
  )
}

function Moment({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (instant: string) => void
}) {
  return (
    <span className={styles.moment}>
      <span aria-hidden>{label}</span>
      <TextField
        label={label}
        type="datetime-local"
        hidesLabel
        value={value === undefined ? '' : toLocal(value)}
        onChange={(local) => onChange(toInstant(local) ?? '')}
      />
    </span>
  )
}

/** Formats a time for an input field, in the time zone of the browser. */
function toLocal(instant: string): string {
  const time = new Date(instant)
  if (Number.isNaN(time.valueOf())) return ''
  return new Date(time.valueOf() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
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
