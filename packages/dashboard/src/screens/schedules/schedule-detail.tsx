import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { jobsLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { code, jsonObject, text } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { parseObject } from '../../ui/json.ts'
import { KeyValue, Section, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Time } from '../../ui/time.tsx'
import { changeSchedule, createSchedule, deleteSchedule, type Schedule } from './api.ts'

export function ScheduleDetail({
  schedule,
  onClose,
}: {
  readonly schedule: Schedule
  readonly onClose: () => void
}) {
  const [opened, setOpened] = useState<'edit' | 'delete'>()
  const [, navigate] = useLocation()
  const { id, name, jobType, isOfFunction } = schedule

  const close = () => setOpened(undefined)
  return (
    <SidePanel title={name} onClose={onClose}>
      <Toolbar label="Schedule">
        {!isOfFunction && (
          <>
            <Button needs="change" onClick={() => setOpened('edit')}>
              Change
            </Button>
            <Button variant="danger" needs="change" onClick={() => setOpened('delete')}>
              Delete
            </Button>
          </>
        )}
        <AsCode
          request={{
            method: 'PUT',
            path: `/api/admin/schedules/${id}`,
            body: { cronExpr: schedule.cronExpr },
          }}
        />
      </Toolbar>
      <KeyValue
        items={{
          'Job type': <Link href={jobsLink({ type: jobType })}>{jobType}</Link>,
          ...(isOfFunction ? { 'Defined by': 'a function, which a deploy changes' } : {}),
          When: <code>{schedule.cronExpr}</code>,
          'Time zone': schedule.timezone,
          'Next run': <Time value={schedule.nextRunAt} />,
          'Last run': <Time value={schedule.lastRunAt} />,
          Attempts: schedule.maxAttempts,
        }}
      />
      <Section title="Payload">
        <Code label="payload">{JSON.stringify(schedule.payload, undefined, 2)}</Code>
      </Section>
      {opened === 'edit' && <ScheduleDialog schedule={schedule} onClose={close} />}
      {opened === 'delete' && (
        <ConfirmAction
          title="Delete the schedule?"
          action="Delete schedule"
          send={() => deleteSchedule(id)}
          invalidates={[['schedules']]}
          done="Schedule deleted."
          onDone={() => navigate('/schedules')}
          onClose={close}
        >
          Jobs that the schedule has added are kept.
        </ConfirmAction>
      )}
    </SidePanel>
  )
}

interface ScheduleDialogProps {
  readonly schedule?: Schedule
  readonly onClose: () => void
}

/** Creates or edits a schedule. Its name and job type cannot be changed afterwards. */
export function ScheduleDialog({ schedule, onClose }: ScheduleDialogProps) {
  const isNew = schedule === undefined
  return (
    <ActionForm
      title={isNew ? 'New schedule' : `Edit ${schedule.name}`}
      action={isNew ? 'Create schedule' : 'Save schedule'}
      start={{
        ...{
          name: '',
          jobType: '',
          cronExpr: schedule?.cronExpr ?? '',
          timezone: schedule?.timezone ?? 'UTC',
        },
        payload: JSON.stringify(schedule?.payload ?? {}, undefined, 2),
      }}
      fields={() => ({
        name: isNew && text('Name', { required: true }),
        jobType: isNew && code('Job type', { required: true }),
        cronExpr: code('When', {
          hint: 'Minute, hour, day of the month, month, weekday: */15 9-17 * * mon-fri',
          required: true,
        }),
        timezone: text('Time zone', { hint: 'For example Europe/Berlin.' }),
        payload: jsonObject('Payload'),
      })}
      send={({ name, jobType, payload, ...rest }) => {
        const input = { ...rest, payload: parseObject(payload) ?? {} }
        return isNew
          ? createSchedule({ ...input, name, jobType })
          : changeSchedule({ ...input, id: schedule.id })
      }}
      invalidates={[['schedules']]}
      done={isNew ? 'Schedule created.' : 'Schedule saved.'}
      onClose={onClose}
    />
  )
}
