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

/** Status and time of an attempt, in words. */
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

/** What a test said. */
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

/** Sends a delivery to another address. */
export function TryDialog({ webhookId, deliveryId, onClose }: TryDialogProps) {
  const [url, setUrl] = useState('')
  const [secret, setSecret] = useState('')
  const action = useAction(tryDelivery, { failure: 'view' })
  return (
    <Dialog title="Send to another address" isOpen onClose={onClose}>
      <Form
        onSubmit={() => action.run({ webhookId, id: deliveryId, url, ...(secret === '' ? {} : { secret }) })}
      >
        <TextField
          label="URL"
          type="url"
          value={url}
          onChange={setUrl}
          isCode
          hint="One attempt with the same body; the log of deliveries stays as it is."
        />
        <TextField
          label="Secret"
          value={secret}
          onChange={setSecret}
          isCode
          hint="Signs this attempt. Empty: it is not signed; the secret of the webhook is not used."
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
