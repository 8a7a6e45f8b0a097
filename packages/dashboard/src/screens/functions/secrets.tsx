import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { RowActions } from '../../ui/data-table.tsx'
import { code, text } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { listSecrets, setSecret, unsetSecret } from './api.ts'

const again = { invalidates: [['functions', 'secrets']] }

export function SecretsScreen() {
  const secrets = useApi(['functions', 'secrets'], listSecrets)
  /** Name of the secret to set; empty for a new one. */
  const [setting, setSetting] = useState<string>()
  const [removing, setRemoving] = useState<string>()
  return (
    <>
      <PageHeader
        title="Secrets"
        asCode={{ request: { method: 'GET', path: '/api/admin/secrets' }, command: 'basalt secrets list' }}
        action={['Set a secret', () => setSetting('')]}
      >
        Values that functions read as <code>ctx.secrets.NAME</code>. They are stored encrypted, and no screen
        shows them.
      </PageHeader>
      <List
        caption="Secrets"
        of={secrets}
        rowKey={({ name }) => name}
        empty="No secrets yet. A secret is a key of another service, which code and logs never contain."
        example={['npx basalt secrets set PAYMENT_KEY', 'Command']}
        first={['Set the first secret', () => setSetting('')]}
        columns={[
          ['Name', ({ name }) => <code>{name}</code>],
          ['Set', ({ updatedAt }) => <Time value={updatedAt} />],
          [
            'Actions',
            ({ name }) => (
              <RowActions
                of={name}
                actions={[
                  ['Replace', () => setSetting(name)],
                  ['Remove', () => setRemoving(name)],
                ]}
              />
            ),
            'actions',
          ],
        ]}
      />
      {setting !== undefined && (
        <ActionForm
          title={setting === '' ? 'Set a secret' : `Replace ${setting}`}
          action="Set secret"
          start={{ name: setting, value: '' }}
          fields={() => ({
            name: setting === '' && code('Name', { required: true, hint: 'Such as PAYMENT_KEY.' }),
            value: text('Value', {
              required: true,
              type: 'password',
              autoComplete: 'new-password',
              hint: 'At least 8 characters. Every node has it within a second.',
            }),
          })}
          send={({ name, value }) => setSecret(name, value)}
          {...again}
          done="Secret set."
          onClose={() => setSetting(undefined)}
        />
      )}
      {removing !== undefined && (
        <ConfirmAction
          title="Remove secret"
          action="Remove secret"
          name={removing}
          send={() => unsetSecret(removing)}
          {...again}
          done="Secret removed."
          onClose={() => setRemoving(undefined)}
        >
          Functions that use it fail from their next call on.
        </ConfirmAction>
      )}
    </>
  )
}
