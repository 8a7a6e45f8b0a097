import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { jsonObject } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { parseObject } from '../../ui/json.ts'
import { Badge } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { listProviders, type Provider, resetCredentials, setCredentials } from './api.ts'

const titles: Readonly<Record<string, string>> = {
  fcm: 'FCM (Android)',
  apns: 'APNs (Apple devices)',
  webpush: 'Web Push (browsers)',
}

const effects: Readonly<Record<Provider['sends'], string>> = {
  provider: 'Sends to the provider',
  log: 'Writes messages to the log (development)',
  nothing: 'Sends nothing',
}

export function ProvidersView() {
  const providers = useApi(['push', 'providers'], listProviders)
  const [changing, setChanging] = useState<Provider>()
  const reset = useAction(resetCredentials, {
    invalidates: [['push', 'providers']],
    done: 'The credentials of the configuration are used again.',
  })
  return (
    <>
      <List
        caption="Providers"
        of={providers}
        rowKey={({ provider }) => provider}
        columns={[
          ['Provider', ({ provider }) => titles[provider] ?? provider],
          [
            'State',
            ({ sends }) => <Badge tone={sends === 'provider' ? 'ok' : 'warning'}>{effects[sends]}</Badge>,
          ],
          [
            'Credentials',
            ({ source, details }) => (
              <>
                {source === null ? 'None' : `From the ${source}`}
                {details !== null &&
                  Object.entries(details).map(([name, value]) => (
                    <div key={name}>
                      {name}: <code>{String(value)}</code>
                    </div>
                  ))}
              </>
            ),
          ],
          [
            'Actions',
            (row) => (
              <>
                <Button size="small" needs="change" onClick={() => setChanging(row)}>
                  Set credentials
                </Button>{' '}
                {row.source === 'database' && (
                  <Button
                    size="small"
                    needs="change"
                    onClick={() => reset.run(row.provider)}
                    isPending={reset.isPending}
                  >
                    Reset
                  </Button>
                )}
              </>
            ),
            'actions',
          ],
        ]}
      />
      {changing !== undefined && (
        <CredentialsForm provider={changing.provider} onClose={() => setChanging(undefined)} />
      )}
    </>
  )
}

function CredentialsForm({ provider, onClose }: { readonly provider: string; readonly onClose: () => void }) {
  return (
    <ActionForm
      title={`Credentials of ${titles[provider] ?? provider}`}
      action="Set credentials"
      start={{ credentials: '' }}
      fields={() => ({ credentials: jsonObject('Credentials as JSON', { rows: 10, hint: hints[provider] }) })}
      send={({ credentials }) => setCredentials({ provider, credentials: parseObject(credentials) ?? {} })}
      invalidates={[['push', 'providers']]}
      done="Credentials set."
      onClose={onClose}
    >
      {() => <p>The credentials are stored encrypted, used on every node and never shown again.</p>}
    </ActionForm>
  )
}

const hints: Readonly<Record<string, string>> = {
  fcm: 'The service account file downloaded from Firebase.',
  apns: 'key (of the .p8 file), key_id, team_id, bundle_id, and environment: production or sandbox.',
  webpush: 'private_key (32 bytes as base64url) and subject, a mailto: or https: address.',
}
