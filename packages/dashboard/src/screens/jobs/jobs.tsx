import { useState } from 'react'
import { useLocation, useRoute, useSearchParams } from 'wouter'
import { moreOf, useApi, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { formatDuration, formatNumber } from '../../ui/format.ts'
import { Badge, FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { EmptyState, LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { countJobs, type JobState, jobStates, listJobs } from './api.ts'
import { EnqueueDialog } from './enqueue-dialog.tsx'
import { JobDetail } from './job-detail.tsx'

export function JobsScreen() {
  const [search, setSearch] = useSearchParams()
  const [, params] = useRoute('/jobs/:id')
  const [, navigate] = useLocation()
  const [isNew, setNew] = useState(false)
  const state = search.get('state') ?? ''
  const type = search.get('type') ?? ''
  const filter = {
    ...(state === '' ? {} : { state }),
    ...(type === '' ? {} : { type }),
  }
  const rest = search.size === 0 ? '' : `?${search}`
  const stats = useApi(['jobs', 'stats'], countJobs, { refetchIntervalMs: 5000 })
  const list = usePages(['jobs', 'list', filter], (cursor, signal) => listJobs(filter, cursor, signal), {
    refetchIntervalMs: 5000,
  })
  const set = (changes: Record<string, string>) =>
    setSearch(
      Object.entries({ state, type, ...changes }).filter(([, value]) => value !== ''),
      { replace: true },
    )
  const count = (name: JobState) => (stats.data === undefined ? '' : ` (${formatNumber(stats.data[name])})`)
  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <>
            <AsCode
              request={{ method: 'GET', path: `/api/admin/jobs${state === '' ? '' : `?state=${state}`}` }}
              sql="select id, type, state, attempts, last_error, run_at from basalt.jobs order by created_at desc limit 50"
            />
            <Button variant="primary" onClick={() => setNew(true)}>
              Add a job
            </Button>
          </>
        }
      >
        Background work of the server and of your application.
      </PageHeader>
      <Toolbar label="Jobs">
        <Select
          label="State"
          hidesLabel
          value={state}
          onChange={(value) => set({ state: value })}
          choices={[
            { value: '', label: 'All states' },
            ...jobStates.map((name) => ({ value: name, label: `${name}${count(name)}` })),
          ]}
        />
        <FilterField label="Type" value={type} onChange={(text) => set({ type: text })} />
        {stats.data !== undefined && stats.data.oldestQueuedAgeSec > 0 && (
          <span>Oldest due job: {formatDuration(stats.data.oldestQueuedAgeSec * 1000)}</span>
        )}
      </Toolbar>
      <LoadedRows list={list}>
        {(rows) => (
          <DataTable
            caption="Jobs"
            rows={rows}
            rowKey={(job) => job.id}
            href={(job) => `/jobs/${job.id}${rest}`}
            selectedKey={params?.id}
            empty={
              state === '' && type === '' ? (
                <EmptyState icon="clock" action="Add the first job" onAct={() => setNew(true)}>
                  No jobs yet. Jobs run in the background, are retried, and survive restarts.
                </EmptyState>
              ) : (
                'No jobs match.'
              )
            }
            columns={[
              { key: 'type', title: 'Type', cell: (job) => job.type },
              { key: 'state', title: 'State', cell: (job) => <StateBadge state={job.state} /> },
              {
                key: 'attempts',
                title: 'Attempts',
                align: 'end',
                isMinor: true,
                cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`,
              },
              { key: 'error', title: 'Last error', isMinor: true, isCut: true, cell: (job) => job.lastError },
              { key: 'due', title: 'Due', cell: (job) => <Time value={job.runAt} /> },
            ]}
            {...moreOf(list)}
          />
        )}
      </LoadedRows>
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
