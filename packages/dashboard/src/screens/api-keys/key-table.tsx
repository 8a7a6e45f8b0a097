import { useState } from 'react'
import { usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { choice, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { type ApiKey, type KeyFilter, listKeys, revokeKey, rotateKey } from './api.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { KeyActionsDialog } from './key-actions-dialog.tsx'

const graces = [
  { value: '0', label: 'It expires now' },
  { value: '3600', label: 'One hour' },
  { value: '86400', label: 'One day' },
  { value: '604800', label: 'One week' },
] as const

const curl = `curl ${location.origin}/api/schema \\
  --header "authorization: Bearer $KEY"`

type KeyAction = 'grant' | 'rotate' | 'revoke'

/** Lists all keys, or those of a user or an app, with their actions. */
export function KeyTable({ userId, appId }: KeyFilter) {
  const filter = { userId, appId }
  const keys = usePages(['api-keys', filter], (cursor, signal) => listKeys(filter, cursor, signal))
  const [isCreating, setCreating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const [chosen, setChosen] = useState<{ readonly apiKey: ApiKey; readonly action: KeyAction }>()
  const close = () => setChosen(undefined)
  return (
    <>
      <Toolbar label="API keys">
        <Button needs="apps.write" onClick={() => setCreating(true)}>
          Create key
        </Button>
      </Toolbar>
      <List
        caption="API keys"
        of={keys}
        columns={[...columns, actionsOf((apiKey, action) => setChosen({ apiKey, action }))]}
        empty="No API keys yet. A key lets a program call the API as a user, with the scopes that you choose."
        first={['Create the first key', () => setCreating(true), 'apps.write']}
        example={[curl, 'Request with a key']}
      />
      {isCreating && (
        <CreateKeyDialog
          userId={userId}
          appId={appId}
          onClose={() => setCreating(false)}
          onCreated={({ key }) => {
            setCreating(false)
            setSecret(key)
          }}
        />
      )}
      {secret !== undefined && (
        <SecretDialog title="API key" label="API key" secret={secret} onClose={() => setSecret(undefined)} />
      )}
      {chosen?.action === 'grant' && <KeyActionsDialog apiKey={chosen.apiKey} onClose={close} />}
      {chosen?.action === 'rotate' && (
        <ActionForm
          title={`Rotate ${chosen.apiKey.name}?`}
          action="Rotate key"
          size="small"
          start={{ grace: valueIn(graces, '3600') }}
          fields={() => ({ grace: choice('The previous secret stays valid for', graces) })}
          send={({ grace }) => rotateKey(chosen.apiKey.id, Number(grace))}
          invalidates={[['api-keys']]}
          onDone={({ key }) => {
            close()
            setSecret(key)
          }}
          onClose={close}
        />
      )}
      {chosen?.action === 'revoke' && (
        <ConfirmAction
          title={`Revoke ${chosen.apiKey.name}?`}
          action="Revoke key"
          send={() => revokeKey(chosen.apiKey.id)}
          invalidates={[['api-keys']]}
          done="Key revoked. Requests with it are refused within a second."
          onClose={close}
        >
          Programs that use it are refused. This cannot be undone.
        </ConfirmAction>
      )}
    </>
  )
}

const columns: readonly Column<ApiKey>[] = [
  ['Name', ({ name }) => name, 'cut'],
  ['Prefix', ({ keyPrefix }) => <code>{keyPrefix}</code>, 'cut', 'minor'],
  ['State', (key) => <KeyState apiKey={key} />],
  ['Scope', ({ scope, actions }) => [scope === '*' ? 'everything' : scope, ...actions].join(', '), 'cut'],
  ['Tables', ({ allowedTables }) => allowedTables.join(', ') || 'all', 'cut', 'minor'],
  ['Acts as', ({ userId }) => <UserLink id={userId} />, 'cut', 'minor'],
  ['Last used', ({ lastUsedAt }) => <Time value={lastUsedAt} />, 'minor'],
  ['Expires', ({ expiresAt }) => <Time value={expiresAt} />, 'minor'],
]

const actionsOf = (choose: (apiKey: ApiKey, action: KeyAction) => void): Column<ApiKey> => [
  'Actions',
  (apiKey) =>
    apiKey.revokedAt === null && (
      <Menu
        label="Actions"
        name={`Actions of ${apiKey.name}`}
        size="small"
        items={[
          { label: 'Actions…', onSelect: () => choose(apiKey, 'grant'), needs: 'owner' },
          { label: 'Rotate…', onSelect: () => choose(apiKey, 'rotate'), needs: 'apps.write' },
          {
            label: 'Revoke…',
            isDangerous: true,
            onSelect: () => choose(apiKey, 'revoke'),
            needs: 'apps.write',
          },
        ]}
      />
    ),
  'actions',
]

function KeyState({ apiKey: { revokedAt, expiresAt } }: { readonly apiKey: ApiKey }) {
  if (revokedAt !== null) return <Badge tone="danger">revoked</Badge>
  if (expiresAt !== null && new Date(expiresAt) <= new Date()) return <Badge tone="warning">expired</Badge>
  return <Badge tone="ok">active</Badge>
}
