import { Link, useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { jobsLink, requestLink, requestsLink } from '../../links.ts'
import { Figure, Figures } from '../../ui/figures.tsx'
import { countOf, formatBytes, formatDuration, formatInstant, formatNumber } from '../../ui/format.ts'
import { Badge, Notice, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Time } from '../../ui/time.tsx'
import { countJobs, listErrors, type Report, readReport, readServer } from './api.ts'
import { FirstSteps } from './first-steps.tsx'
import styles from './home.module.css'
import { Traffic } from './traffic.tsx'
import { Warnings } from './warnings.tsx'

const refetch = { refetchIntervalMs: 30_000 }

/** Shows the health of the server, its use, and everything that needs attention. */
export function HomeScreen() {
  const report = useApi(['report'], readReport, refetch)
  const server = useApi(['server'], readServer, refetch)
  const [search, setSearch] = useSearchParams()
  return (
    <>
      <PageHeader title="Home" asCode={{ request: { method: 'GET', path: '/api/admin/report' } }}>
        {server.data === undefined
          ? location.origin
          : `${location.origin} · Basalt ${server.data.version} · PostgreSQL ${server.data.database.version}`}
      </PageHeader>
      {server.data?.isAuthRequired === false && (
        <Notice tone="danger">
          Authentication is off, so every client can do everything. Set <code>auth.enabled</code> to enable
          it.
        </Notice>
      )}
      <Loaded query={report}>
        {(known) => (
          <>
            {Object.values(known.steps).includes(false) && <FirstSteps steps={known.steps} />}
            <Tabs
              label="Time span"
              value={search.get('span') === 'day' ? 'day' : 'hour'}
              onChange={(span) => setSearch(span === 'day' ? { span } : {}, { replace: true })}
              tabs={[
                {
                  value: 'hour',
                  label: 'Last hour',
                  content: <Traffic points={known.hour} span="the last hour" />,
                },
                {
                  value: 'day',
                  label: 'Last 24 hours',
                  content: <Traffic points={known.day} span="the last 24 hours" />,
                },
              ]}
            />
            <Numbers report={known} />
          </>
        )}
      </Loaded>
      <div className={styles.columns}>
        <Warnings />
        <LastErrors />
      </div>
    </>
  )
}

function Numbers({ report }: { readonly report: Report }) {
  const server = useApi(['server'], readServer, refetch)
  const jobs = useApi(['jobs', 'stats'], countJobs, refetch)
  const { signUps, storedBytes, streams, backup } = report
  const newest = signUps.reduce((sum, { count }) => sum + count, 0)
  const most = Math.max(1, ...signUps.map(({ count }) => count))
  const database = server.data?.database
  return (
    <Figures>
      <Figure name="Sign-ups, 14 days" value={formatNumber(newest)} href="/users">
        <span className={styles.bars} aria-hidden="true">
          {signUps.map(({ day, count }) => (
            <i key={day} style={{ height: `${(count / most) * 100}%` }} />
          ))}
        </span>
      </Figure>
      <Figure
        name="Storage"
        value={database === undefined ? '…' : formatBytes(database.sizeBytes + (storedBytes ?? 0))}
        href="/storage"
      >
        {storedBytes === null ? 'in the database' : `of which ${formatBytes(storedBytes)} in files`}
      </Figure>
      <Figure
        name="Connections"
        value={database === undefined ? '…' : `${database.connections} of ${database.maxConnections}`}
        href="/settings/server"
      >
        {countOf(streams, 'open stream')}
      </Figure>
      <Figure
        name="Failed jobs"
        value={jobs.data === undefined ? '…' : formatNumber(jobs.data.failed)}
        href={jobsLink({ state: 'failed' })}
        isBad={(jobs.data?.failed ?? 0) > 0}
      >
        {jobs.data !== undefined &&
          `${formatNumber(jobs.data.queued)} queued, ${formatNumber(jobs.data.running)} running`}
      </Figure>
      <BackupFigure backup={backup} isEmbedded={database?.isEmbedded ?? true} />
    </Figures>
  )
}

const dayMs = 24 * 60 * 60 * 1000

interface BackupFigureProps {
  readonly backup: Report['backup']
  readonly isEmbedded: boolean
}

function BackupFigure({ backup, isEmbedded }: BackupFigureProps) {
  const common = { name: 'Newest backup', href: '/settings/backup' }
  if (!isEmbedded) {
    return (
      <Figure {...common} value="–">
        by the tools of your database
      </Figure>
    )
  }
  if (backup === null) {
    return (
      <Figure {...common} value="None" isBad>
        npx basalt backup FILE
      </Figure>
    )
  }
  const age = Date.now() - Date.parse(backup.finishedAt)
  return (
    <Figure {...common} value={`${formatDuration(age)} ago`} isBad={age > dayMs}>
      <span title={formatInstant(backup.finishedAt)}>{formatBytes(backup.bytes)}</span>
    </Figure>
  )
}

function LastErrors() {
  const errors = useApi(['requests', 'errors'], listErrors, refetch)
  return (
    <Section title="Last errors" actions={<Link href={requestsLink({ status: '5xx' })}>All errors</Link>}>
      <Loaded query={errors}>
        {({ items }) =>
          items.length === 0 ? (
            <p className={styles.fine}>No request has failed.</p>
          ) : (
            <ul className={styles.list}>
              {items.map((request) => (
                <li key={request.id}>
                  <Badge tone="danger">{request.status_code}</Badge>
                  <Link href={requestLink(request.request_id)}>
                    {request.method} {request.path}
                  </Link>
                  <Time value={request.timestamp} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}
