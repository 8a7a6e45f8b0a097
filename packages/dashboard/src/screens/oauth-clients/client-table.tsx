import { useState } from 'react'
import { usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { Failure } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { listClients, type OAuthClient } from './api.ts'
import { ClientDialog } from './client-dialog.tsx'

/** Lists all clients, or those of one app. */
export function ClientTable({ appId }: { readonly appId?: string }) {
  const clients = usePages(['oauth-clients', appId], (cursor, signal) => listClients(appId, cursor, signal))
  const [isCreating, setCreating] = useState(false)
  const [secret, setSecret] = useState<string>()
  // Without the OAuth server no client can be registered, either.
  if (clients.rows === undefined && clients.error !== null) {
    return <Failure error={clients.error} onRetry={clients.refetch} />
  }
  return (
    <>
      <Toolbar label="OAuth clients">
        <Button needs="owner" onClick={() => setCreating(true)}>
          Register client
        </Button>
      </Toolbar>
      <List
        caption="OAuth clients"
        of={clients}
        href={({ clientId }) => `/oauth-clients/${encodeURIComponent(clientId)}`}
        columns={columns}
        empty="No OAuth clients yet. A client lets another program act for the users who consent."
        first={['Register the first client', () => setCreating(true), 'owner']}
      />
      {isCreating && (
        <ClientDialog
          appId={appId}
          onClose={() => setCreating(false)}
          onSaved={(clientSecret) => {
            setCreating(false)
            setSecret(clientSecret)
          }}
        />
      )}
      {secret !== undefined && (
        <SecretDialog
          title="Client secret"
          label="Client secret"
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

export function ClientState({ client }: { readonly client: OAuthClient }) {
  return client.revokedAt === null ? <Badge tone="ok">active</Badge> : <Badge tone="danger">revoked</Badge>
}

const columns: readonly Column<OAuthClient>[] = [
  ['Name', ({ name }) => name, 'cut'],
  ['State', (client) => <ClientState client={client} />],
  ['Type', ({ clientType }) => clientType, 'minor'],
  ['Registered by', ({ source }) => source, 'minor'],
  ['Scopes', ({ scopes }) => scopes.join(', ')],
  ['Access tokens', ({ activeAccessTokenCount }) => formatNumber(activeAccessTokenCount), 'end', 'minor'],
  ['Last token', ({ lastTokenIssuedAt }) => <Time value={lastTokenIssuedAt} />, 'minor'],
]
