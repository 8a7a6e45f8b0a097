import { Route, Switch } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { decodeSegment } from '../../path-segment.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { SearchedTo } from '../../ui/searched-to.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { choicesOf, Filters } from '../activity/filters.tsx'
import { Histogram } from '../activity/histogram.tsx'
import { toneOfStatus } from '../activity/level.ts'
import { UserLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { countRequests, listRequests, requestFilters } from './api.ts'
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

const statuses = {
  '': 'All statuses',
  '2xx': '2xx: success',
  '3xx': '3xx: redirect',
  '4xx': '4xx: refused',
  '5xx': '5xx: failed',
}
const methods = choicesOf('All methods', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'WS'])

function RequestList() {
  const filters = useFilters(requestFilters)
  const { settled, set, isFiltered } = filters
  const list = usePages(['requests', settled], (cursor, signal) =>
    listRequests(withInstants(settled), cursor, signal),
  )
  return (
    <>
      <PageHeader
        title="Requests"
        actions={
          <>
            <Button onClick={list.refetch} isPending={list.isFetching}>
              Refresh
            </Button>
            <AsCode
              request={{
                method: 'GET',
                path: queryPath('/api/admin/analytics/requests', withInstants(settled)),
              }}
            />
          </>
        }
      >
        Requests to all nodes, newest first, without the reads of this dashboard (
        <code>logging.dashboard_reads</code>). Query strings and bodies can contain secrets and are not
        recorded.
      </PageHeader>
      <Filters
        label="Request filter"
        filters={filters}
        fields={[
          { name: 'path', label: 'Path', placeholder: 'Path: /api/collections/*' },
          { name: 'method', label: 'Method', choices: methods },
          { name: 'status', label: 'Status', choices: statuses },
          { name: 'min_duration_ms', label: 'At least … ms' },
          { name: 'user_id', label: 'User id' },
        ]}
        range={['from', 'to']}
      />
      <Histogram
        name="Requests"
        queryKey={['requests', 'histogram', settled]}
        read={(signal) => countRequests(withInstants(settled), signal)}
        onSelect={(from, to) => set({ from, to })}
      />
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
