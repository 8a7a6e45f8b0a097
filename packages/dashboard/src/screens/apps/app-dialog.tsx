import { text, textArea } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { userOf } from '../users/user-picker.tsx'
import { type App, createApp, updateApp } from './api.ts'

interface AppDialogProps {
  /** App to edit; undefined for a new one. */
  readonly app?: App
  readonly onClose: () => void
  readonly onSaved: (app: App) => void
}

export function AppDialog({ app, onClose, onSaved }: AppDialogProps) {
  return (
    <ActionForm
      title={app === undefined ? 'Create app' : 'Edit app'}
      action="Save"
      start={{
        ...{ name: app?.name ?? '', description: app?.description ?? '', ownerUserId: '' },
        rateLimitRps: String(app?.rateLimitRps ?? 0),
        rateLimitWindowSeconds: String(app?.rateLimitWindowSeconds ?? 60),
      }}
      fields={() => ({
        name: text('Name', { required: true, maxLength: 200 }),
        description: textArea('Description', { maxLength: 10_000 }),
        ownerUserId: app === undefined && userOf('Owner', 'A user'),
        rateLimitRps: text('Requests per window', { hint: '0 for no limit', type: 'number', min: 0 }),
        rateLimitWindowSeconds: text('Window in seconds', {
          hint: 'At most 86,400',
          type: 'number',
          ...{ min: 1, max: 86_400 },
        }),
      })}
      send={({ ownerUserId, rateLimitRps, rateLimitWindowSeconds, ...rest }) => {
        const settings = {
          ...rest,
          rateLimitRps: Number(rateLimitRps),
          rateLimitWindowSeconds: Number(rateLimitWindowSeconds),
        }
        return app === undefined ? createApp({ ...settings, ownerUserId }) : updateApp(app.id, settings)
      }}
      invalidates={[['apps']]}
      done="App saved."
      onDone={onSaved}
      onClose={onClose}
    />
  )
}
