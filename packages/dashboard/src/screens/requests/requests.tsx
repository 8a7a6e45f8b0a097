import { Route, Switch } from 'wouter'
import { usePages } from '../../api/queries.ts'
import { decodeSegment } from '../../path-segment.ts'
import { Button } from '../../ui/button.tsx'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { DashboardReads } from '../activity/dashboard-reads.tsx'
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
        asCode={{
          request: {
            method: 'GET',
            path: queryPath('/api/admin/analytics/requests', withInstants(settled)),
          },
        }}
        actions={
          <Button onClick={list.refetch} isPending={list.isFetching}>
            Refresh
          </Button>
        }
      >
        Requests to all nodes, newest first. Query strings and bodies can contain secrets and are not
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
      >
        <DashboardReads />
      </Filters>
      <Histogram
        name="Requests"
        queryKey={['requests', 'histogram', settled]}
        read={(signal) => countRequests(withInstants(settled), signal)}
        onSelect={(from, to) => set({ from, to })}
      />
      <List
        caption="Requests"
        of={list}
        href={({ request_id: id }) => `/requests/${encodeURIComponent(id)}`}
        isFiltered={isFiltered}
        empty="No requests yet. Each request of your app is listed here, with its status and duration."
        example={[`curl ${location.origin}/api/schema`, 'First request']}
        columns={[
          ['Request', ({ method, path }) => `${method} ${path}`, 'cut'],
          ['Status', ({ status_code: code }) => <Badge tone={toneOfStatus(code)}>{code}</Badge>],
          ['Duration', ({ duration_ms: ms }) => formatDuration(ms), 'end', 'minor'],
          ['Response', ({ response_size: bytes }) => formatBytes(bytes), 'end', 'minor'],
          ['User', ({ user_id: id }) => <UserLink id={id} />, 'minor'],
          ['Time', ({ timestamp }) => <Time value={timestamp} />],
        ]}
      />
    </>
  )
}
