import { useState } from 'react'
import { useLocation, useRoute, useSearchParams } from 'wouter'
import { useApi, usePages } from '../../api/queries.ts'
import { formatDuration, formatNumber } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { Filters } from '../activity/filters.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { countJobs, type JobState, jobStates, listJobs } from './api.ts'
import { EnqueueDialog } from './enqueue-dialog.tsx'
import { JobDetail } from './job-detail.tsx'

export function JobsScreen() {
  const filters = useFilters(['state', 'type', 'from', 'to'])
  const { settled, isFiltered } = filters
  const [search] = useSearchParams()
  const [, params] = useRoute('/jobs/:id')
  const [, navigate] = useLocation()
  const [isNew, setNew] = useState(false)
  const rest = search.size === 0 ? '' : `?${search}`
  const stats = useApi(['jobs', 'stats'], countJobs, { refetchIntervalMs: 5000 })
  const list = usePages(
    ['jobs', 'list', settled],
    (cursor, signal) => listJobs(withInstants(settled), cursor, signal),
    { refetchIntervalMs: 5000 },
  )
  const count = (name: JobState) => (stats.data === undefined ? '' : ` (${formatNumber(stats.data[name])})`)
  return (
    <>
      <PageHeader
        title="Jobs"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/jobs', withInstants(settled)) },
          sql: 'select id, type, state, attempts, last_error, run_at from basalt.jobs order by created_at desc limit 50',
        }}
        action={['Add a job', () => setNew(true)]}
      >
        Background work of the server and of your application.
      </PageHeader>
      <Filters
        label="Jobs"
        filters={filters}
        fields={[
          {
            name: 'state',
            label: 'State',
            choices: Object.fromEntries([
              ['', 'All states'],
              ...jobStates.map((name) => [name, `${name}${count(name)}`] as const),
            ]),
          },
          { name: 'type', label: 'Type' },
        ]}
        range={['from', 'to']}
      >
        {stats.data !== undefined && stats.data.oldestQueuedAgeSec > 0 && (
          <span>Oldest due job: {formatDuration(stats.data.oldestQueuedAgeSec * 1000)}</span>
        )}
      </Filters>
      <List
        caption="Jobs"
        of={list}
        href={(job) => `/jobs/${job.id}${rest}`}
        selectedKey={params?.id}
        isFiltered={isFiltered}
        empty="No jobs yet. Jobs run in the background, are retried, and survive restarts."
        first={['Add the first job', () => setNew(true)]}
        columns={[
          ['Type', (job) => job.type],
          ['State', (job) => <StateBadge state={job.state} />],
          ['Attempts', ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`, 'end', 'minor'],
          ['Last error', (job) => job.lastError, 'cut', 'minor'],
          ['Due', (job) => <Time value={job.runAt} />],
        ]}
      />
      {params !== null && params.id !== undefined && (
        <JobDetail key={params.id} id={params.id} onClose={() => navigate(`/jobs${rest}`)} />
      )}
      {isNew && (
        <EnqueueDialog
          types={[...new Set(list.rows?.map((job) => job.type))].sort()}
          onClose={() => setNew(false)}
        />
      )}
    </>
  )
}

const tones = {
  queued: 'accent',
  running: 'accent',
  completed: 'ok',
  failed: 'danger',
  canceled: 'neutral',
} as const satisfies Record<JobState, string>

export function StateBadge({ state }: { readonly state: JobState }) {
  return <Badge tone={tones[state]}>{state}</Badge>
}
