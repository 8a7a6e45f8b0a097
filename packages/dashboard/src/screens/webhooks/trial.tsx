import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge, Form, Notice } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { type Trial, tryDelivery } from './api.ts'

/** Renders status and time of an attempt. */
export function Outcome({
  attempt,
}: {
  readonly attempt: Pick<Trial, 'success' | 'durationMs'> & {
    readonly statusCode?: number | null | undefined
  }
}) {
  const { success, statusCode, durationMs } = attempt
  return (
    <>
      <Badge tone={success ? 'ok' : 'danger'}>
        {success ? 'Delivered' : 'Failed'}
        {statusCode == null ? '' : ` · ${statusCode}`}
      </Badge>{' '}
      {formatDuration(durationMs)}
    </>
  )
}

/** Renders the result of a test. */
export function TrialResult({ trial }: { readonly trial: Trial }) {
  return (
    <Notice tone={trial.success ? 'ok' : 'danger'}>
      <p>
        <Outcome attempt={trial} /> {trial.error}
      </p>
      {trial.responseBody !== undefined && trial.responseBody !== '' && (
        <Code label="response">{trial.responseBody.slice(0, 2000)}</Code>
      )}
    </Notice>
  )
}

interface TryDialogProps {
  readonly webhookId: string
  readonly deliveryId: string
  readonly onClose: () => void
}

/** Sends a delivery to another URL. */
export function TryDialog({ webhookId, deliveryId, onClose }: TryDialogProps) {
  const [url, setUrl] = useState('')
  const [secret, setSecret] = useState('')
  const action = useAction(tryDelivery, { failure: 'view' })
  return (
    <Dialog title="Send to another URL" isOpen onClose={onClose}>
      <Form
        onSubmit={() => action.run({ webhookId, id: deliveryId, url, ...(secret === '' ? {} : { secret }) })}
      >
        <TextField
          label="URL"
          type="url"
          value={url}
          onChange={setUrl}
          isCode
          hint="One attempt with the same body. It is not recorded in the delivery log."
        />
        <TextField
          label="Secret"
          value={secret}
          onChange={setSecret}
          isCode
          hint="Signs this attempt. Without it, the attempt is not signed. The secret of the webhook is not used."
        />
        {action.error !== null && <Failure error={action.error} />}
        {action.result !== undefined && <TrialResult trial={action.result} />}
        <div>
          <Button type="submit" variant="primary" isPending={action.isPending}>
            Send
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
