import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { UserPicker } from '../users/user-picker.tsx'
import { type App, createApp, updateApp } from './api.ts'

interface AppDialogProps {
  /** App to edit; undefined for a new one. */
  readonly app?: App
  readonly onClose: () => void
  readonly onSaved: (app: App) => void
}

export function AppDialog({ app, onClose, onSaved }: AppDialogProps) {
  const [name, setName] = useState(app?.name ?? '')
  const [description, setDescription] = useState(app?.description ?? '')
  const [ownerUserId, setOwner] = useState('')
  const [limit, setLimit] = useState(String(app?.rateLimitRps ?? 0))
  const [window, setWindow] = useState(String(app?.rateLimitWindowSeconds ?? 60))
  const settings = {
    name,
    description,
    rateLimitRps: Number(limit),
    rateLimitWindowSeconds: Number(window),
  }
  const save = useAction(
    () => (app === undefined ? createApp({ ...settings, ownerUserId }) : updateApp(app.id, settings)),
    { invalidates: [['apps']], done: 'App saved.', onDone: onSaved, failure: 'view' },
  )
  return (
    <FormDialog
      title={app === undefined ? 'Create app' : 'Edit app'}
      action="Save"
      isDisabled={name.trim() === '' || (app === undefined && ownerUserId === '')}
      isPending={save.isPending}
      error={save.error}
      onSubmit={() => save.run()}
      onClose={onClose}
    >
      <TextField label="Name" maxLength={200} value={name} onChange={setName} />
      <TextArea label="Description" maxLength={10_000} value={description} onChange={setDescription} />
      {app === undefined && (
        <UserPicker label="Owner" hint="A user" value={ownerUserId} onChange={setOwner} />
      )}
      <TextField
        label="Requests per window"
        hint="0 for no limit"
        type="number"
        min={0}
        value={limit}
        onChange={setLimit}
      />
      <TextField
        label="Window in seconds"
        hint="At most 86,400"
        type="number"
        min={1}
        max={86_400}
        value={window}
        onChange={setWindow}
      />
    </FormDialog>
  )
}
