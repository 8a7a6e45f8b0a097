import { useId, useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { toInstant } from '../webhooks/replay-dialog.tsx'
import { enqueueJob } from './api.ts'

export function EnqueueDialog({
  types,
  onClose,
}: {
  /** Offered for completion. */
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
    <Dialog title="Add a job" isOpen onClose={onClose}>
      <Form
        onSubmit={() => {
          if (parsed !== undefined)
            action.run({ type, payload: parsed, ...(due === undefined ? {} : { runAt: due }) })
        }}
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
          hint="At once unless given."
        />
        {action.error !== null && <Failure error={action.error} />}
        <div>
          <Button type="submit" look="primary" isPending={action.isPending} disabled={parsed === undefined}>
            Add job
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}

/** Undefined when it is none. */
export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
