import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import type { Body } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/layout.tsx'
import { createWebhook, updateWebhook, type Webhook } from './api.ts'

const actions = ['create', 'update', 'delete'] as const

/** Creates or edits a webhook. A secret created here is shown once. */
export function EditDialog({
  webhook,
  onClose,
}: {
  readonly webhook?: Webhook | undefined
  readonly onClose: () => void
}) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [events, setEvents] = useState<Webhook['events']>(webhook?.events ?? actions)
  const [tables, setTables] = useState(webhook?.tables.join(', ') ?? '')
  const [isSigned, setSigned] = useState(webhook === undefined)
  const [shown, setShown] = useState<string>()
  const action = useAction(
    (input: Body<'webhooks.create'>) =>
      webhook === undefined ? createWebhook(input) : updateWebhook({ id: webhook.id, ...input }),
    {
      invalidates: [['webhooks']],
      failure: 'view',
      done: webhook === undefined ? 'Webhook created.' : 'Webhook saved.',
      onDone: (_, { secret }) => (secret == null ? onClose() : setShown(secret)),
    },
  )
  if (shown !== undefined) {
    return (
      <Dialog
        title="Webhook secret"
        isOpen
        onClose={onClose}
        footer={
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <Notice tone="warning">Copy the secret to the receiver now. It is not shown again.</Notice>
        <Code label="secret">{shown}</Code>
      </Dialog>
    )
  }
  return (
    <FormDialog
      title={webhook === undefined ? 'New webhook' : 'Edit webhook'}
      action={webhook === undefined ? 'Create webhook' : 'Save webhook'}
      isDisabled={events.length === 0}
      error={action.error}
      isPending={action.isPending}
      onSubmit={() =>
        action.run({
          url,
          events,
          tables: tables
            .split(',')
            .map((name) => name.trim())
            .filter((name) => name !== ''),
          ...(isSigned ? { secret: makeSecret() } : {}),
        })
      }
      onClose={onClose}
    >
      <TextField label="URL" type="url" value={url} onChange={setUrl} isCode required />
      <fieldset>
        <legend>Actions</legend>
        {actions.map((name) => (
          <Checkbox
            key={name}
            label={name}
            checked={events.includes(name)}
            onChange={(isOn) =>
              setEvents(actions.filter((each) => (each === name ? isOn : events.includes(each))))
            }
          />
        ))}
      </fieldset>
      <TextField
        label="Tables"
        value={tables}
        onChange={setTables}
        isCode
        hint="Table names, separated by commas. Leave empty for all tables."
      />
      <Checkbox
        label={webhook?.hasSecret === true ? 'Replace the secret' : 'Sign with a new secret'}
        checked={isSigned}
        onChange={setSigned}
        hint="The secret is shown once, after this step."
      />
      {events.length === 0 && <p role="alert">Select at least one action.</p>}
    </FormDialog>
  )
}

/** Creates a secret of 32 bytes, in the format of Standard Webhooks. */
function makeSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`
}
