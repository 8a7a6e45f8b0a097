import { checklist, choice, text, textArea, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { actionsField } from '../api-keys/actions-field.tsx'
import { defaultAppId } from '../apps/api.ts'
import { createClient, type NewClient, type OAuthClient, updateClient } from './api.ts'

const types = [
  { value: 'confidential', label: 'Confidential: a server that can keep a secret' },
  { value: 'public', label: 'Public: a web page or a mobile app' },
] as const

const scopeNames = [
  { value: 'readonly', label: 'readonly' },
  { value: 'readwrite', label: 'readwrite' },
  { value: '*', label: '* (everything, including procedures)' },
] as const

type Scope = NewClient['scopes'][number]
const firstScopes: NewClient['scopes'] = ['readonly']

interface ClientDialogProps {
  /** Client to edit; undefined for a new one. */
  readonly client?: OAuthClient
  readonly appId?: string | undefined
  readonly onClose: () => void
  /** Called after the client is saved. @param secret secret of a new confidential client, which is only shown once */
  readonly onSaved: (secret: string | undefined) => void
}

export function ClientDialog({ client, appId = defaultAppId, onClose, onSaved }: ClientDialogProps) {
  const uris = (text: string) => text.split(/\s+/).filter((uri) => uri !== '')
  return (
    <ActionForm
      title={client === undefined ? 'Register OAuth client' : 'Edit OAuth client'}
      action="Save"
      start={{
        ...{ name: client?.name ?? '', type: valueIn(types, 'confidential') },
        redirectUris: client?.redirectUris.join('\n') ?? '',
        scopes: client?.scopes ?? firstScopes,
      }}
      fields={() => ({
        name: text('Name', { hint: 'Shown to users on the consent page' }),
        type: client === undefined && choice('Type', types),
        redirectUris: textArea('Redirect URIs', {
          hint: 'One per line. Redirects must match exactly.',
          isCode: true,
        }),
        scopes: (value, onChange) => (
          <>
            {checklist<Scope>('Allowed scopes', scopeNames)(value, onChange)}
            {(client === undefined || client.source === 'administrator') && actionsField(value, onChange)}
          </>
        ),
      })}
      isReady={({ name, redirectUris, scopes }) =>
        name.trim() !== '' &&
        uris(redirectUris).length > 0 &&
        scopeNames.some(({ value }) => scopes.includes(value))
      }
      send={async ({ name, type, redirectUris, scopes }) => {
        const settings = { name, redirectUris: uris(redirectUris), scopes }
        if (client === undefined)
          return (await createClient({ ...settings, appId, clientType: type })).clientSecret
        await updateClient(client.clientId, settings)
        return undefined
      }}
      invalidates={[['oauth-clients']]}
      done="Client saved."
      onDone={onSaved}
      onClose={onClose}
    />
  )
}
