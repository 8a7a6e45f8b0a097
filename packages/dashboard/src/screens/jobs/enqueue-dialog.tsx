import { useId, useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { parseObject } from '../../ui/parse-object.ts'
import { toInstant } from '../../ui/time-range.tsx'
import { enqueueJob } from './api.ts'

export function EnqueueDialog({
  types,
  onClose,
}: {
  /** Job types to suggest. */
  readonly types: readonly string[]
  readonly onClose: () => void
}) {
  const [type, setType] = useState('')
  const [payload, setPayload] = useState('{}')
  const [runAt, setRunAt] = useState('')
  const list = useId()
  const action = useAction(enqueueJob, {
    invalidates: [['jobs']],
    failure: 'view',
    done: 'Job added.',
    onDone: onClose,
  })
  const parsed = parseObject(payload)
  const due = toInstant(runAt)
  return (
    <FormDialog
      title="Add a job"
      action="Add job"
      isDisabled={parsed === undefined}
      error={action.error}
      isPending={action.isPending}
      onSubmit={() => {
        if (parsed !== undefined)
          action.run({ type, payload: parsed, ...(due === undefined ? {} : { runAt: due }) })
      }}
      onClose={onClose}
    >
      <TextField label="Type" value={type} onChange={setType} isCode list={list} required />
      <datalist id={list}>
        {types.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <TextArea
        label="Payload"
        value={payload}
        onChange={setPayload}
        isCode
        error={parsed === undefined ? 'Expected a JSON object.' : undefined}
      />
      <TextField
        label="Not before"
        type="datetime-local"
        value={runAt}
        onChange={setRunAt}
        hint="Leave empty to run immediately."
      />
    </FormDialog>
  )
}
