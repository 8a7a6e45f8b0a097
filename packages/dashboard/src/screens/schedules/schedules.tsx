import { useState } from 'react'
import { useLocation, useRoute } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Switch } from '../../ui/field.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { EmptyState, Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { listSchedules, type Schedule, setScheduleEnabled } from './api.ts'
import { ScheduleDetail, ScheduleDialog } from './schedule-detail.tsx'

export function SchedulesScreen() {
  const [, params] = useRoute('/schedules/:id')
  const [, navigate] = useLocation()
  const [isNew, setNew] = useState(false)
  const list = useApi(['schedules'], listSchedules, { refetchIntervalMs: 10_000 })
  return (
    <>
      <PageHeader
        title="Schedules"
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/admin/schedules' }} />
            <Button variant="primary" onClick={() => setNew(true)}>
              New schedule
            </Button>
          </>
        }
      >
        Jobs that run at scheduled times.
      </PageHeader>
      <Loaded query={list}>
        {({ items }) => {
          const selected = items.find((schedule) => schedule.id === params?.id)
          return (
            <>
              <DataTable
                caption="Schedules"
                rows={items}
                rowKey={(schedule) => schedule.id}
                href={(schedule) => `/schedules/${schedule.id}`}
                selectedKey={params?.id}
                empty={
                  <EmptyState icon="clock" action="Add the first schedule" onAct={() => setNew(true)}>
                    No schedules yet. A schedule adds a job at set times.
                  </EmptyState>
                }
                columns={[
                  { key: 'name', title: 'Name', cell: (schedule) => schedule.name },
                  { key: 'cron', title: 'When', cell: (schedule) => <code>{schedule.cronExpr}</code> },
                  { key: 'zone', title: 'Time zone', isMinor: true, cell: (schedule) => schedule.timezone },
                  { key: 'next', title: 'Next run', cell: (schedule) => <Time value={schedule.nextRunAt} /> },
                  {
                    key: 'last',
                    title: 'Last run',
                    isMinor: true,
                    cell: (schedule) => <Time value={schedule.lastRunAt} />,
                  },
                  { key: 'enabled', title: 'Enabled', cell: (schedule) => <Enabled schedule={schedule} /> },
                ]}
              />
              {selected !== undefined && (
                <ScheduleDetail
                  key={selected.id}
                  schedule={selected}
                  onClose={() => navigate('/schedules')}
                />
              )}
            </>
          )
        }}
      </Loaded>
      {isNew && <ScheduleDialog onClose={() => setNew(false)} />}
    </>
  )
}

function Enabled({ schedule: { id, name, enabled } }: { readonly schedule: Schedule }) {
  const action = useAction(setScheduleEnabled, { invalidates: [['schedules']] })
  return (
    <Switch
      label={<span className="visually-hidden">{`${name} enabled`}</span>}
      checked={enabled}
      disabled={action.isPending}
      onChange={(isEnabled) => action.run({ id, isEnabled })}
    />
  )
}
