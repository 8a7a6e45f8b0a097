import { Route, Switch } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { decodeSegment } from '../../path-segment.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { Badge, FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { SearchedTo } from '../../ui/searched-to.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { toneOfStatus } from '../activity/level.ts'
import { UserLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { listRequests, requestFilters } from './api.ts'
import { RequestView } from './request-view.tsx'

export function RequestsScreen() {
  return (
    <Switch>
      <Route path="/requests/:id">{({ id }) => <RequestView id={decodeSegment(id)} />}</Route>
      <Route>
        <RequestList />
      </Route>
    </Switch>
  )
}

const statuses = [
  { value: '', label: 'All statuses' },
  { value: '2xx', label: '2xx: success' },
  { value: '3xx', label: '3xx: redirect' },
  { value: '4xx', label: '4xx: refused' },
  { value: '5xx', label: '5xx: failed' },
]
const methods = ['', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'WS'].map((value) => ({
  value,
  label: value === '' ? 'All methods' : value,
}))

function RequestList() {
  const { values, settled, set, isFiltered, clear } = useFilters(requestFilters)
  const list = usePages(['requests', settled], (cursor, signal) => listRequests(settled, cursor, signal))
  const status = values.status ?? ''
  return (
    <>
      <PageHeader
        title="Requests"
        actions={
          <>
            <Button onClick={list.refetch} isPending={list.isFetching}>
              Refresh
            </Button>
            <AsCode request={{ method: 'GET', path: queryPath('/api/admin/analytics/requests', settled) }} />
          </>
        }
      >
        Requests to all nodes, newest first, without the reads of this dashboard (
        <code>logging.dashboard_reads</code>). Query strings and bodies can contain secrets and are not
        recorded.
      </PageHeader>
      <Toolbar label="Request filter">
        <FilterField
          label="Path"
          placeholder="Path: /api/collections/*"
          value={values.path ?? ''}
          onChange={(path) => set({ path })}
        />
        <Select
          label="Method"
          hidesLabel
          value={values.method ?? ''}
          choices={methods}
          onChange={(method) => set({ method })}
        />
        <Select
          label="Status"
          hidesLabel
          value={status}
          choices={
            statuses.some(({ value }) => value === status)
              ? statuses
              : [...statuses, { value: status, label: status }]
          }
          onChange={(next) => set({ status: next })}
        />
        <FilterField
          label="At least … ms"
          inputMode="numeric"
          value={values.min_duration_ms ?? ''}
          onChange={(least) => set({ min_duration_ms: least })}
        />
        <FilterField label="User id" value={values.user_id ?? ''} onChange={(id) => set({ user_id: id })} />
        <FilterField
          label="From"
          placeholder="From: 2026-01-31"
          value={values.from ?? ''}
          onChange={(from) => set({ from })}
        />
        {isFiltered && <Button onClick={clear}>Clear</Button>}
      </Toolbar>
      <LoadedRows list={list}>
        {(rows) => (
          <>
            <DataTable
              caption="Requests"
              rows={rows}
              rowKey={({ id }) => id}
              href={({ request_id: id }) => `/requests/${encodeURIComponent(id)}`}
              empty={isFiltered ? 'No requests match.' : 'No requests yet.'}
              columns={[
                {
                  key: 'path',
                  title: 'Request',
                  isCut: true,
                  cell: ({ method, path }) => `${method} ${path}`,
                },
                {
                  key: 'status',
                  title: 'Status',
                  cell: ({ status_code: code }) => <Badge tone={toneOfStatus(code)}>{code}</Badge>,
                },
                {
                  key: 'duration',
                  title: 'Duration',
                  align: 'end',
                  cell: ({ duration_ms: ms }) => formatDuration(ms),
                },
                {
                  key: 'size',
                  title: 'Response',
                  align: 'end',
                  isMinor: true,
                  cell: ({ response_size: bytes }) => formatBytes(bytes),
                },
                {
                  key: 'user',
                  title: 'User',
                  isMinor: true,
                  cell: ({ user_id: id }) => <UserLink id={id} />,
                },
                { key: 'time', title: 'Time', cell: ({ timestamp }) => <Time value={timestamp} /> },
              ]}
              {...moreOf(list)}
            />
            <SearchedTo list={list} />
          </>
        )}
      </LoadedRows>
    </>
  )
}
