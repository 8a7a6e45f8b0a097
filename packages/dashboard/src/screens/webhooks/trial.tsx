import { Code } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { code } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge, Notice } from '../../ui/layout.tsx'
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
  return (
    <Dialog title="Send to another URL" isOpen onClose={onClose}>
      <InlineForm
        action="Send"
        start={{ url: '', secret: '' }}
        fields={() => ({
          url: code('URL', {
            type: 'url',
            hint: 'One attempt with the same body. It is not recorded in the delivery log.',
          }),
          secret: code('Secret', {
            hint: 'Signs this attempt. Without it, the attempt is not signed. The secret of the webhook is not used.',
          }),
        })}
        send={({ url, secret }) =>
          tryDelivery({ webhookId, id: deliveryId, url, ...(secret === '' ? {} : { secret }) })
        }
      >
        {(trial) => trial !== undefined && <TrialResult trial={trial} />}
      </InlineForm>
    </Dialog>
  )
}
