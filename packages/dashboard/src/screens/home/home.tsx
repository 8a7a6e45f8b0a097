import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Code } from '../../ui/code.tsx'
import { countOf, formatBytes, formatDuration, formatNumber } from '../../ui/format.ts'
import { KeyValue, Notice, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { countJobs, countRequests, countTables, readServer } from './api.ts'
import { Warnings } from './warnings.tsx'

/** Shows the server and everything that needs attention. */
export function HomeScreen() {
  const server = useApi(['server'], readServer)
  const tables = useApi(['tables', 'count'], countTables)
  return (
    <>
      <PageHeader title="Home" actions={<AsCode request={{ method: 'GET', path: '/api/admin/server' }} />}>
        {location.origin}
      </PageHeader>
      <Loaded query={server}>
        {({ version, isAuthRequired, database }) => (
          <>
            {!isAuthRequired && (
              <Notice tone="danger">
                Authentication is off, so every client can do everything. Set <code>auth.enabled</code> to
                enable it.
              </Notice>
            )}
            <Section title="Server">
              <KeyValue
                items={[
                  ['Basalt', version],
                  [
                    'PostgreSQL',
                    `${database.version}, ${database.isEmbedded ? 'embedded' : 'external'}, database ${database.name}`,
                  ],
                  ['Database size', formatBytes(database.sizeBytes)],
                  ['Database running since', <Time key="started" value={database.startedAt} />],
                  ['Connections', `${database.connections} of ${database.maxConnections} connections`],
                ]}
              />
            </Section>
          </>
        )}
      </Loaded>
      <Section title="Tables">
        <Loaded query={tables}>
          {(count) =>
            count === 0 ? (
              <FirstSteps />
            ) : (
              <p>
                <Link href="/tables">{countOf(count, 'table or view', 'tables and views')}</Link>
              </p>
            )
          }
        </Loaded>
      </Section>
      <Warnings />
      <Activity />
    </>
  )
}

function FirstSteps() {
  return (
    <>
      <p>There are no tables yet. This statement creates a table whose rows only their owners can see:</p>
      <Code label="First table">{firstTable}</Code>
      <p>
        Run it in <Link href="/sql">SQL</Link>, or create a table in <Link href="/structure">Structure</Link>.
        The API serves it immediately at <code>/api/collections/note</code>.
      </p>
    </>
  )
}

const firstTable = `create table note (
  id bigint generated always as identity primary key,
  owner uuid not null default basalt.user_id(),
  text text not null
);
alter table note enable row level security;
create policy own on note using (owner = basalt.user_id());`

function Activity() {
  const requests = useApi(['usage', 'last-day'], countRequests)
  const jobs = useApi(['jobs', 'stats'], countJobs)
  return (
    <Section title="Activity">
      <KeyValue
        items={[
          [
            'Requests',
            <Loaded key="requests" query={requests}>
              {(count) => (
                <>
                  <Link href="/requests">{formatNumber(count)}</Link> yesterday and today (UTC)
                </>
              )}
            </Loaded>,
          ],
          [
            'Jobs',
            <Loaded key="jobs" query={jobs}>
              {({ queued, running, failed, oldestQueuedAgeSec }) => (
                <>
                  <Link href="/jobs">
                    {formatNumber(running)} running, {formatNumber(queued)} queued, {formatNumber(failed)}{' '}
                    failed
                  </Link>
                  {queued > 0 && <>; the oldest waits for {formatDuration(oldestQueuedAgeSec * 1000)}</>}
                </>
              )}
            </Loaded>,
          ],
        ]}
      />
    </Section>
  )
}
