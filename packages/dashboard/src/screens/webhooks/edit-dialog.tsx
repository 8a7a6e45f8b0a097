import { useState } from 'react'
import { checkbox, checklist, choicesOf, code } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { splitList } from '../../ui/split-list.ts'
import { createWebhook, updateWebhook, type Webhook } from './api.ts'

const actions: Webhook['events'] = ['create', 'update', 'delete']

/** Creates or edits a webhook. A secret created here is shown once. */
export function EditDialog({
  webhook,
  onClose,
}: {
  readonly webhook?: Webhook | undefined
  readonly onClose: () => void
}) {
  const [shown, setShown] = useState<string>()
  if (shown !== undefined) {
    return (
      <SecretDialog title="Webhook secret" label="secret" secret={shown} onClose={onClose}>
        Copy the secret to the receiver now. It is not shown again.
      </SecretDialog>
    )
  }
  const isNew = webhook === undefined
  return (
    <ActionForm
      title={isNew ? 'New webhook' : 'Edit webhook'}
      action={isNew ? 'Create webhook' : 'Save webhook'}
      start={{
        url: webhook?.url ?? '',
        events: webhook?.events ?? actions,
        tables: webhook?.tables.join(', ') ?? '',
        isSigned: isNew,
      }}
      fields={() => ({
        url: code('URL', { type: 'url', required: true }),
        events: checklist('Actions', choicesOf(actions)),
        tables: code('Tables', { hint: 'Table names, separated by commas. Leave empty for all tables.' }),
        isSigned: checkbox(webhook?.hasSecret === true ? 'Replace the secret' : 'Sign with a new secret', {
          hint: 'The secret is shown once, after this step.',
        }),
      })}
      isReady={({ events }) => events.length > 0}
      send={async ({ url, events, tables, isSigned }) => {
        const secret = isSigned ? makeSecret() : undefined
        const input = { url, events, tables: splitList(tables), ...(secret !== undefined && { secret }) }
        await (isNew ? createWebhook(input) : updateWebhook({ id: webhook.id, ...input }))
        return secret
      }}
      invalidates={[['webhooks']]}
      done={isNew ? 'Webhook created.' : 'Webhook saved.'}
      onDone={(secret) => (secret === undefined ? onClose() : setShown(secret))}
      onClose={onClose}
    >
      {({ events }) => events.length === 0 && <p role="alert">Select at least one action.</p>}
    </ActionForm>
  )
}

/** Creates a secret of 32 bytes, in the format of Standard Webhooks. */
function makeSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`
}
