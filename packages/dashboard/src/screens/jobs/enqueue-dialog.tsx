import { jsonObject, suggested, text } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { parseObject } from '../../ui/json.ts'
import { toInstant } from '../../ui/time-range.tsx'
import { enqueueJob } from './api.ts'

interface EnqueueDialogProps {
  /** Job types to suggest. */
  readonly types: readonly string[]
  readonly onClose: () => void
}

export function EnqueueDialog({ types, onClose }: EnqueueDialogProps) {
  return (
    <ActionForm
      title="Add a job"
      action="Add job"
      start={{ type: '', payload: '{}', runAt: '' }}
      fields={() => ({
        type: suggested('Type', types, { required: true }),
        payload: jsonObject('Payload'),
        runAt: text('Not before', { type: 'datetime-local', hint: 'Leave empty to run immediately.' }),
      })}
      send={({ type, payload, runAt }) => {
        const due = toInstant(runAt)
        return enqueueJob({
          type,
          payload: parseObject(payload) ?? {},
          ...(due === undefined ? {} : { runAt: due }),
        })
      }}
      invalidates={[['jobs']]}
      done="Job added."
      onClose={onClose}
    />
  )
}
