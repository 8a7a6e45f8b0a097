import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { jobsLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { KeyValue, Section, Toolbar } from '../../ui/layout.tsx'
import { parseObject } from '../../ui/parse-object.ts'
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
  const { id, name, jobType } = schedule
  const removal = useAction(deleteSchedule, {
    invalidates: [['schedules']],
    done: 'Schedule deleted.',
    failure: 'view',
    onDone: () => navigate('/schedules'),
  })
  const close = () => setOpened(undefined)
  return (
    <SidePanel title={name} onClose={onClose}>
      <Toolbar label="Schedule">
        <Button onClick={() => setOpened('edit')}>Change</Button>
        <Button variant="danger" onClick={() => setOpened('delete')}>
          Delete
        </Button>
        <AsCode
          request={{
            method: 'PUT',
            path: `/api/admin/schedules/${id}`,
            body: { cronExpr: schedule.cronExpr },
          }}
        />
      </Toolbar>
      <KeyValue
        items={[
          [
            'Job type',
            <Link key="type" href={jobsLink({ type: jobType })}>
              {jobType}
            </Link>,
          ],
          ['When', <code key="cron">{schedule.cronExpr}</code>],
          ['Time zone', schedule.timezone],
          ['Next run', <Time key="next" value={schedule.nextRunAt} />],
          ['Last run', <Time key="last" value={schedule.lastRunAt} />],
          ['Attempts', schedule.maxAttempts],
        ]}
      />
      <Section title="Payload">
        <Code label="payload">{JSON.stringify(schedule.payload, undefined, 2)}</Code>
      </Section>
      {opened === 'edit' && <ScheduleDialog schedule={schedule} onClose={close} />}
      {opened === 'delete' && (
        <ConfirmDialog
          title="Delete the schedule?"
          action="Delete schedule"
          isPending={removal.isPending}
          error={removal.error}
          onConfirm={() => removal.run(id)}
          onClose={close}
        >
          Jobs that the schedule has added are kept.
        </ConfirmDialog>
      )}
    </SidePanel>
  )
}

/** Creates or edits a schedule. Its name and job type cannot be changed afterwards. */
export function ScheduleDialog({
  schedule,
  onClose,
}: {
  readonly schedule?: Schedule
  readonly onClose: () => void
}) {
  const [name, setName] = useState('')
  const [jobType, setJobType] = useState('')
  const [cronExpr, setCronExpr] = useState(schedule?.cronExpr ?? '')
  const [timezone, setTimezone] = useState(schedule?.timezone ?? 'UTC')
  const [payload, setPayload] = useState(JSON.stringify(schedule?.payload ?? {}, undefined, 2))
  const action = useAction(
    (input: Pick<Schedule, 'cronExpr' | 'timezone' | 'payload'>) =>
      schedule === undefined
        ? createSchedule({ ...input, name, jobType })
        : changeSchedule({ ...input, id: schedule.id }),
    {
      invalidates: [['schedules']],
      failure: 'view',
      done: schedule === undefined ? 'Schedule created.' : 'Schedule saved.',
      onDone: onClose,
    },
  )
  const parsed = parseObject(payload)
  return (
    <FormDialog
      title={schedule === undefined ? 'New schedule' : `Edit ${schedule.name}`}
      action={schedule === undefined ? 'Create schedule' : 'Save schedule'}
      isDisabled={parsed === undefined}
      error={action.error}
      isPending={action.isPending}
      onSubmit={() => {
        if (parsed !== undefined) action.run({ cronExpr, timezone, payload: parsed })
      }}
      onClose={onClose}
    >
      {schedule === undefined && (
        <>
          <TextField label="Name" value={name} onChange={setName} required />
          <TextField label="Job type" value={jobType} onChange={setJobType} isCode required />
        </>
      )}
      <TextField
        label="When"
        value={cronExpr}
        onChange={setCronExpr}
        isCode
        hint="Minute, hour, day of the month, month, weekday: */15 9-17 * * mon-fri"
        required
      />
      <TextField
        label="Time zone"
        value={timezone}
        onChange={setTimezone}
        hint="For example Europe/Berlin."
      />
      <TextArea
        label="Payload"
        value={payload}
        onChange={setPayload}
        isCode
        error={parsed === undefined ? 'Expected a JSON object.' : undefined}
      />
    </FormDialog>
  )
}
