import { useState } from 'react'
import { useLocation, useRoute } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { Switch } from '../../ui/field.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
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
        asCode={{ request: { method: 'GET', path: '/api/admin/schedules' } }}
        action={['New schedule', () => setNew(true)]}
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
                href={(schedule) => `/schedules/${schedule.id}`}
                selectedKey={params?.id}
                empty="No schedules yet. A schedule adds a job at set times."
                first={['Add the first schedule', () => setNew(true)]}
                columns={[
                  ['Name', (schedule) => schedule.name],
                  ['When', ({ cronExpr, timezone }) => <code>{`${cronExpr} ${timezone}`}</code>],
                  ['Next run', (schedule) => <Time value={schedule.nextRunAt} />],
                  ['Last run', (schedule) => <Time value={schedule.lastRunAt} />, 'minor'],
                  ['Enabled', (schedule) => <Enabled schedule={schedule} />],
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
  const may = usePermissions()
  const action = useAction(setScheduleEnabled, { invalidates: [['schedules']] })
  return (
    <Switch
      label={<span className="visually-hidden">{`${name} enabled`}</span>}
      checked={enabled}
      disabled={action.isPending || !may('change')}
      onChange={(isEnabled) => action.run({ id, isEnabled })}
    />
  )
}
