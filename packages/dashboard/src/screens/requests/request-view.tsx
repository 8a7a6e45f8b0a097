import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { appLink, auditLink, eventsLink, logsLink } from '../../links.ts'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { Badge, KeyValue, PageHeader, Section } from '../../ui/layout.tsx'
import { List, rowsOf } from '../../ui/list.tsx'
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
  const mayReadAudit = usePermissions()('bodies.read')
  const audit = useApi(
    ['audit', 'of request', id],
    (signal) => listAudit({ request_id: id }, undefined, signal),
    { enabled: mayReadAudit },
  )
  return (
    <>
      <PageHeader
        title="Request"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/analytics/requests', { request_id: id }) },
          command: `basalt logs --request-id ${id}`,
        }}
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
        <List
          caption="Log entries of this request"
          of={rowsOf(logs, ({ items }) => items.toReversed())}
          rowKey={(entry) => `${entry.time} ${entry.message}`}
          empty="No log entries. A request without a warning or an error writes none."
          columns={[
            ['Time', (entry) => <Time value={entry.time} />],
            ['Level', (entry) => <Badge tone={toneOfLevel(entry.level)}>{entry.level}</Badge>],
            ['Message', (entry) => entry.message],
            ['Attributes', (entry) => <code>{JSON.stringify(entry.attrs)}</code>],
          ]}
        />
      </Section>
      {mayReadAudit && (
        <Section title="Changes" actions={<Link href={eventsLink({ request_id: id })}>Events</Link>}>
          <List
            caption="Audit entries of this request"
            of={audit}
            href={(entry) => auditLink({ request_id: id, entry: entry.id })}
            empty="No changes. The request wrote nothing, or only rows of tables that are not audited."
            example={['[audit]\ntables = ["invoice"]', 'Audited tables']}
            columns={[
              ['Action', (entry) => entry.action],
              ['By', (entry) => entry.actor],
              [
                'On',
                (entry) =>
                  entry.table_name === null ? (
                    (entry.target ?? '–')
                  ) : (
                    <RowLink table={entry.table_name} id={entry.record_id} />
                  ),
              ],
            ]}
          />
        </Section>
      )}
    </>
  )
}

function RequestFacts({ request }: { readonly request: AnsweredRequest }) {
  return (
    <Section title={`${request.method} ${request.path}`}>
      <KeyValue
        items={{
          Status: <Badge tone={toneOfStatus(request.status_code)}>{request.status_code}</Badge>,
          Time: <Time value={request.timestamp} />,
          Duration: formatDuration(request.duration_ms),
          Operation: request.operation === null ? '–' : <code key="operation">{request.operation}</code>,
          User: <UserLink id={request.user_id} />,
          'API key': request.api_key_id === null ? '–' : <code key="key">{request.api_key_id}</code>,
          App:
            request.app_id === nullUuid ? (
              '–'
            ) : (
              <Link key="app" href={appLink(request.app_id)}>
                {request.app_id}
              </Link>
            ),
          Size: `${formatBytes(request.request_size)} in, ${formatBytes(request.response_size)} out`,
          Address: request.ip_address ?? '–',
          Node: <code>{request.node}</code>,
        }}
      />
    </Section>
  )
}
