import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Checkbox, Select, TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { ActionsField } from '../api-keys/actions-field.tsx'
import { defaultAppId } from '../apps/api.ts'
import { createClient, type NewClient, type OAuthClient, updateClient } from './api.ts'

const scopeNames = ['readonly', 'readwrite', '*'] as const

interface ClientDialogProps {
  /** Client to edit; undefined for a new one. */
  readonly client?: OAuthClient
  readonly appId?: string | undefined
  readonly onClose: () => void
  /** Called after the client is saved. @param secret secret of a new confidential client, which is only shown once */
  readonly onSaved: (secret: string | undefined) => void
}

export function ClientDialog({ client, appId = defaultAppId, onClose, onSaved }: ClientDialogProps) {
  const [name, setName] = useState(client?.name ?? '')
  const [type, setType] = useState<'confidential' | 'public'>('confidential')
  const [addresses, setAddresses] = useState(client?.redirectUris.join('\n') ?? '')
  const [scopes, setScopes] = useState<NewClient['scopes']>(client?.scopes ?? ['readonly'])
  const settings = { name, redirectUris: addresses.split(/\s+/).filter((text) => text !== ''), scopes }
  const save = useAction(
    async () => {
      if (client === undefined)
        return (await createClient({ ...settings, appId, clientType: type })).clientSecret
      await updateClient(client.clientId, settings)
      return undefined
    },
    { invalidates: [['oauth-clients']], done: 'Client saved.', onDone: onSaved, failure: 'view' },
  )
  return (
    <FormDialog
      title={client === undefined ? 'Register OAuth client' : 'Edit OAuth client'}
      action="Save"
      isDisabled={
        name.trim() === '' ||
        settings.redirectUris.length === 0 ||
        !scopeNames.some((scope) => scopes.includes(scope))
      }
      isPending={save.isPending}
      error={save.error}
      onSubmit={() => save.run()}
      onClose={onClose}
    >
      <TextField label="Name" hint="Shown to users on the consent page" value={name} onChange={setName} />
      {client === undefined && (
        <Select
          label="Type"
          value={type}
          choices={[
            { value: 'confidential', label: 'Confidential: a server that can keep a secret' },
            { value: 'public', label: 'Public: a web page or a mobile app' },
          ]}
          onChange={setType}
        />
      )}
      <TextArea
        label="Redirect URIs"
        hint="One per line. Redirects must match exactly."
        value={addresses}
        onChange={setAddresses}
        isCode
      />
      <fieldset>
        <legend>Allowed scopes</legend>
        {scopeNames.map((scope) => (
          <Checkbox
            key={scope}
            label={scope === '*' ? '* (everything, including procedures)' : scope}
            checked={scopes.includes(scope)}
            onChange={(isOn) =>
              setScopes(isOn ? [...scopes, scope] : scopes.filter((other) => other !== scope))
            }
          />
        ))}
      </fieldset>
      {(client === undefined || client.source === 'administrator') && (
        <ActionsField legend="Additional actions" value={scopes} onChange={setScopes} />
      )}
    </FormDialog>
  )
}
