import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Checkbox, Select, TextArea, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { ActionsField } from '../api-keys/actions-field.tsx'
import { defaultAppId } from '../apps/api.ts'
import { createClient, type NewClient, type OAuthClient, updateClient } from './api.ts'

const scopeNames = ['readonly', 'readwrite', '*'] as const

interface ClientDialogProps {
  /** Undefined: a new one. */
  readonly client?: OAuthClient
  readonly appId?: string | undefined
  readonly onClose: () => void
  /** @param secret of a new confidential client, this once */
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
      <TextField label="Name" hint="Shown to users when they let it in" value={name} onChange={setName} />
      {client === undefined && (
        <Select
          label="Type"
          value={type}
          choices={[
            { value: 'confidential', label: 'Confidential: a server that keeps a secret' },
            { value: 'public', label: 'Public: a page or an app of a phone' },
          ]}
          onChange={setType}
        />
      )}
      <TextArea
        label="Redirect addresses"
        hint="One per line; compared character by character"
        value={addresses}
        onChange={setAddresses}
        isCode
      />
      <fieldset>
        <legend>Scopes it may ask for</legend>
        {scopeNames.map((scope) => (
          <Checkbox
            key={scope}
            label={scope === '*' ? '* (everything, procedures included)' : scope}
            checked={scopes.includes(scope)}
            onChange={(isOn) =>
              setScopes(isOn ? [...scopes, scope] : scopes.filter((other) => other !== scope))
            }
          />
        ))}
      </fieldset>
      {(client === undefined || client.source === 'administrator') && (
        <ActionsField legend="It may also ask to" value={scopes} onChange={setScopes} />
      )}
    </FormDialog>
  )
}
