import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { scheduleLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { KeyValue, Section, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { cancelJob, getJob, type Job, retryJob } from './api.ts'
import { StateBadge } from './jobs.tsx'

export function JobDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useApi(['jobs', 'detail', id], (signal) => getJob(id, signal), { refetchIntervalMs: 3000 })
  return (
    <SidePanel title="Job" onClose={onClose}>
      <Loaded query={query}>{(job) => <Content job={job} />}</Loaded>
    </SidePanel>
  )
}

function Content({ job }: { readonly job: Job }) {
  const { id, state } = job
  const may = usePermissions()
  const again = { invalidates: [['jobs']] }
  const retry = useAction(retryJob, { ...again, done: 'Requeued.' })
  const cancel = useAction(cancelJob, { ...again, done: 'Canceled.' })
  return (
    <>
      <Toolbar label="Job">
        <Button
          needs="change"
          disabled={state !== 'failed'}
          isPending={retry.isPending}
          onClick={() => retry.run(id)}
        >
          Retry
        </Button>
        <Button
          needs="change"
          disabled={state !== 'queued'}
          isPending={cancel.isPending}
          onClick={() => cancel.run(id)}
        >
          Cancel
        </Button>
        <AsCode
          request={{
            method: 'POST',
            path: `/api/admin/jobs/${id}/${state === 'queued' ? 'cancel' : 'retry'}`,
          }}
          sql={`select * from basalt.jobs where id = '${id}'`}
        />
      </Toolbar>
      <KeyValue
        items={{
          Id: <code>{id}</code>,
          Type: job.type,
          State: <StateBadge state={state} />,
          Attempts: `${job.attempts} of ${job.maxAttempts}`,
          Added: <Time value={job.createdAt} />,
          Due: <Time value={job.runAt} />,
          'Last started': <Time value={job.lastRunAt} />,
          'Lease until': <Time value={job.leaseUntil} />,
          Ended: <Time value={job.completedAt ?? job.canceledAt} />,
          Schedule:
            job.scheduleId === undefined ? (
              '–'
            ) : (
              <Link key="schedule" href={scheduleLink(job.scheduleId)}>
                {job.scheduleId}
              </Link>
            ),
        }}
      />
      {job.lastError !== '' && (
        <Section title="Last error">
          <Code label="last error">{job.lastError}</Code>
        </Section>
      )}
      {may('bodies.read') && (
        <Section title="Payload">
          <Code label="payload">{JSON.stringify(job.payload, undefined, 2)}</Code>
        </Section>
      )}
    </>
  )
}
