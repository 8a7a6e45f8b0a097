import { useState } from 'react'
import { Link } from 'wouter'
import { moreOf, useAction, usePages } from '../../api/queries.ts'
import { userLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { EmptyState, LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
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
  const [grace, setGrace] = useState<(typeof graces)[number]['value']>('3600')
  const invalidates = [['api-keys']]
  const rotate = useAction((id: string) => rotateKey(id, Number(grace)), {
    invalidates,
    onDone(result) {
      setChosen(undefined)
      setSecret(result.key)
    },
    failure: 'view',
  })
  const revoke = useAction(revokeKey, {
    invalidates,
    done: 'Key revoked. Requests with it are refused within a second.',
    onDone: () => setChosen(undefined),
    failure: 'view',
  })
  const act = chosen?.action === 'rotate' ? rotate : revoke
  return (
    <>
      <Toolbar label="API keys">
        <Button onClick={() => setCreating(true)}>Create key</Button>
      </Toolbar>
      <LoadedRows list={keys}>
        {(rows) => (
          <DataTable
            caption="API keys"
            rows={rows}
            rowKey={({ id }) => id}
            columns={[...columns, actionsOf((apiKey, action) => setChosen({ apiKey, action }))]}
            empty={
              <EmptyState
                icon="key"
                action="Create the first key"
                onAct={() => setCreating(true)}
                code={curl}
                label="Request with a key"
              >
                No API keys yet. A key lets a program call the API as a user, with the scopes that you choose.
              </EmptyState>
            }
            {...moreOf(keys)}
          />
        )}
      </LoadedRows>
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
      {chosen?.action === 'grant' && (
        <KeyActionsDialog apiKey={chosen.apiKey} onClose={() => setChosen(undefined)} />
      )}
      {chosen !== undefined && chosen.action !== 'grant' && (
        <ConfirmDialog
          title={
            chosen.action === 'rotate' ? `Rotate ${chosen.apiKey.name}?` : `Revoke ${chosen.apiKey.name}?`
          }
          action={chosen.action === 'rotate' ? 'Rotate key' : 'Revoke key'}
          isDangerous={chosen.action === 'revoke'}
          isPending={act.isPending}
          error={act.error}
          onConfirm={() => act.run(chosen.apiKey.id)}
          onClose={() => {
            act.reset()
            setChosen(undefined)
          }}
        >
          {chosen.action === 'revoke' ? (
            'Programs that use it are refused. This cannot be undone.'
          ) : (
            <Select
              label="The previous secret stays valid for"
              value={grace}
              choices={graces}
              onChange={setGrace}
            />
          )}
        </ConfirmDialog>
      )}
    </>
  )
}

const columns: readonly Column<ApiKey>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => name, isCut: true },
  {
    key: 'prefix',
    title: 'Prefix',
    cell: ({ keyPrefix }) => <code>{keyPrefix}</code>,
    isCut: true,
    isMinor: true,
  },
  { key: 'state', title: 'State', cell: (key) => <KeyState apiKey={key} /> },
  {
    key: 'scope',
    title: 'Scope',
    cell: ({ scope, actions }) => [scope === '*' ? 'everything' : scope, ...actions].join(', '),
    isCut: true,
  },
  {
    key: 'tables',
    title: 'Tables',
    cell: ({ allowedTables }) => allowedTables.join(', ') || 'all',
    isCut: true,
    isMinor: true,
  },
  {
    key: 'user',
    title: 'Acts as',
    cell: ({ userId }) => <Link href={userLink(userId)}>{userId.slice(0, 8)}…</Link>,
    isCut: true,
    isMinor: true,
  },
  { key: 'used', title: 'Last used', cell: ({ lastUsedAt }) => <Time value={lastUsedAt} />, isMinor: true },
  { key: 'expires', title: 'Expires', cell: ({ expiresAt }) => <Time value={expiresAt} />, isMinor: true },
]

const actionsOf = (choose: (apiKey: ApiKey, action: KeyAction) => void): Column<ApiKey> => ({
  key: 'actions',
  title: 'Actions',
  align: 'end',
  cell: (apiKey) =>
    apiKey.revokedAt === null && (
      <Menu
        label="Actions"
        name={`Actions of ${apiKey.name}`}
        size="small"
        items={[
          { label: 'Actions…', onSelect: () => choose(apiKey, 'grant') },
          { label: 'Rotate…', onSelect: () => choose(apiKey, 'rotate') },
          { label: 'Revoke…', isDangerous: true, onSelect: () => choose(apiKey, 'revoke') },
        ]}
      />
    ),
})

function KeyState({ apiKey: { revokedAt, expiresAt } }: { readonly apiKey: ApiKey }) {
  if (revokedAt !== null) return <Badge tone="danger">revoked</Badge>
  if (expiresAt !== null && new Date(expiresAt) <= new Date()) return <Badge tone="warning">expired</Badge>
  return <Badge tone="ok">active</Badge>
}
