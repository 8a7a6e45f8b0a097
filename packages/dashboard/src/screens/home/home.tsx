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

/** What this server is, and what asks for attention. */
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
                Authentication is off: every client may do everything. Set <code>auth.enabled</code> to turn
                it on.
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
                  ['Size of the database', formatBytes(database.sizeBytes)],
                  ['Database running since', <Time key="started" value={database.startedAt} />],
                  ['Connections', `${database.connections} of at most ${database.maxConnections}`],
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
      <p>There is no table yet. A first one, which its owners alone can see:</p>
      <Code label="First table">{firstTable}</Code>
      <p>
        Run it in <Link href="/sql">SQL</Link>, or make a table in <Link href="/structure">Structure</Link>.
        It is served at <code>/api/collections/note</code> at once.
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
