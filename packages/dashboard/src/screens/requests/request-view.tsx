import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { appLink, auditLink, eventsLink, logsLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { Badge, KeyValue, PageHeader, Section } from '../../ui/layout.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { toneOfLevel, toneOfStatus } from '../activity/level.ts'
import { RowLink, UserLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { listAudit } from '../audit/api.ts'
import { listLogs } from '../logs/api.ts'
import { type AnsweredRequest, findRequest } from './api.ts'

const nullUuid = '00000000-0000-0000-0000-000000000000'

/** Shows a request, its log entries and its changes. */
export function RequestView({ id }: { readonly id: string }) {
  const request = useApi(['requests', 'one', id], async (signal) => ({
    found: await findRequest(id, signal),
  }))
  const logs = useApi(['logs', 'of request', id], (signal) =>
    listLogs({ requestId: id, level: undefined, q: undefined }, undefined, signal),
  )
  const audit = useApi(['audit', 'of request', id], (signal) =>
    listAudit({ request_id: id }, undefined, signal),
  )
  return (
    <>
      <PageHeader
        title="Request"
        actions={
          <AsCode
            request={{ method: 'GET', path: queryPath('/api/admin/analytics/requests', { request_id: id }) }}
            command={`basalt logs --request-id ${id}`}
          />
        }
      >
        <code>{id}</code>
      </PageHeader>
      <Loaded query={request}>
        {({ found }) =>
          found === undefined ? (
            <Empty>
              There is no request with this id. It may be in flight, older than the retention period, or of
              another server.
            </Empty>
          ) : (
            <RequestFacts request={found} />
          )
        }
      </Loaded>
      <Section title="Log" actions={<Link href={logsLink({ requestId: id })}>Logs</Link>}>
        <Loaded query={logs}>
          {({ items }) => (
            <DataTable
              caption="Log entries of this request"
              rows={items.toReversed()}
              rowKey={(entry) => `${entry.time} ${entry.message}`}
              empty="No log entries."
              columns={[
                { key: 'time', title: 'Time', cell: (entry) => <Time value={entry.time} /> },
                {
                  key: 'level',
                  title: 'Level',
                  cell: (entry) => <Badge tone={toneOfLevel(entry.level)}>{entry.level}</Badge>,
                },
                { key: 'message', title: 'Message', cell: (entry) => entry.message },
                {
                  key: 'attributes',
                  title: 'Attributes',
                  cell: (entry) => <code>{JSON.stringify(entry.attrs)}</code>,
                },
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Changes" actions={<Link href={eventsLink({ request_id: id })}>Events</Link>}>
        <Loaded query={audit}>
          {({ items }) => (
            <DataTable
              caption="Audit entries of this request"
              rows={items}
              rowKey={(entry) => entry.id}
              href={(entry) => auditLink({ request_id: id, entry: entry.id })}
              empty="No audit entries. Row changes are only recorded for audited tables."
              columns={[
                { key: 'action', title: 'Action', cell: (entry) => entry.action },
                { key: 'actor', title: 'By', cell: (entry) => entry.actor },
                {
                  key: 'on',
                  title: 'On',
                  cell: (entry) =>
                    entry.table_name === null ? (
                      (entry.target ?? '–')
                    ) : (
                      <RowLink table={entry.table_name} id={entry.record_id} />
                    ),
                },
              ]}
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}

function RequestFacts({ request }: { readonly request: AnsweredRequest }) {
  return (
    <Section title={`${request.method} ${request.path}`}>
      <KeyValue
        items={[
          [
            'Status',
            <Badge key="status" tone={toneOfStatus(request.status_code)}>
              {request.status_code}
            </Badge>,
          ],
          ['Time', <Time key="time" value={request.timestamp} />],
          ['Duration', formatDuration(request.duration_ms)],
          ['Operation', request.operation === null ? '–' : <code key="operation">{request.operation}</code>],
          ['User', <UserLink key="user" id={request.user_id} />],
          ['API key', request.api_key_id === null ? '–' : <code key="key">{request.api_key_id}</code>],
          [
            'App',
            request.app_id === nullUuid ? (
              '–'
            ) : (
              <Link key="app" href={appLink(request.app_id)}>
                {request.app_id}
              </Link>
            ),
          ],
          ['Size', `${formatBytes(request.request_size)} in, ${formatBytes(request.response_size)} out`],
          ['Address', request.ip_address ?? '–'],
          ['Node', <code key="node">{request.node}</code>],
        ]}
      />
    </Section>
  )
}
