import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { TextArea } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Badge } from '../../ui/layout.tsx'
import { parseObject } from '../../ui/parse-object.ts'
import { Loaded } from '../../ui/states.tsx'
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
      <Loaded query={providers}>
        {(rows) => (
          <DataTable
            caption="Providers"
            rows={rows}
            rowKey={({ provider }) => provider}
            columns={[
              { key: 'provider', title: 'Provider', cell: ({ provider }) => titles[provider] ?? provider },
              {
                key: 'sends',
                title: 'State',
                cell: ({ sends }) => (
                  <Badge tone={sends === 'provider' ? 'ok' : 'warning'}>{effects[sends]}</Badge>
                ),
              },
              {
                key: 'source',
                title: 'Credentials',
                cell: ({ source, details }) => (
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
              },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (row) => (
                  <>
                    <Button size="small" onClick={() => setChanging(row)}>
                      Set credentials
                    </Button>{' '}
                    {row.source === 'database' && (
                      <Button
                        size="small"
                        onClick={() => reset.run(row.provider)}
                        isPending={reset.isPending}
                      >
                        Reset
                      </Button>
                    )}
                  </>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {changing !== undefined && (
        <CredentialsForm provider={changing.provider} onClose={() => setChanging(undefined)} />
      )}
    </>
  )
}

function CredentialsForm({ provider, onClose }: { readonly provider: string; readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const credentials = parseObject(text)
  const action = useAction(setCredentials, {
    invalidates: [['push', 'providers']],
    done: 'Credentials set.',
    failure: 'view',
    onDone: onClose,
  })
  return (
    <FormDialog
      title={`Credentials of ${titles[provider] ?? provider}`}
      action="Set credentials"
      isDisabled={credentials === undefined}
      isPending={action.isPending}
      error={action.error}
      onSubmit={() => {
        if (credentials !== undefined) action.run({ provider, credentials })
      }}
      onClose={onClose}
    >
      <TextArea
        label="Credentials as JSON"
        value={text}
        onChange={setText}
        rows={10}
        isCode
        hint={hints[provider]}
        error={text !== '' && credentials === undefined ? 'Expected a JSON object.' : undefined}
      />
      <p>The credentials are stored encrypted, used on every node and never shown again.</p>
    </FormDialog>
  )
}

const hints: Readonly<Record<string, string>> = {
  fcm: 'The service account file downloaded from Firebase.',
  apns: 'key (of the .p8 file), key_id, team_id, bundle_id, and environment: production or sandbox.',
  webpush: 'private_key (32 bytes as base64url) and subject, a mailto: or https: address.',
}
