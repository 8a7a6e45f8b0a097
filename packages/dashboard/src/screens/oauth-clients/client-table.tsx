import { useState } from 'react'
import { moreOf, usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { Failure, LoadedRows } from '../../ui/states.tsx'
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
        <Button onClick={() => setCreating(true)}>Register client</Button>
      </Toolbar>
      <LoadedRows list={clients}>
        {(rows) => (
          <DataTable
            caption="OAuth clients"
            rows={rows}
            rowKey={({ id }) => id}
            href={({ clientId }) => `/oauth-clients/${encodeURIComponent(clientId)}`}
            columns={columns}
            empty="No OAuth clients."
            {...moreOf(clients)}
          />
        )}
      </LoadedRows>
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
  { key: 'name', title: 'Name', cell: ({ name }) => name, isCut: true },
  { key: 'state', title: 'State', cell: (client) => <ClientState client={client} /> },
  { key: 'type', title: 'Type', cell: ({ clientType }) => clientType, isMinor: true },
  { key: 'source', title: 'Registered by', cell: ({ source }) => source, isMinor: true },
  { key: 'scopes', title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  {
    key: 'tokens',
    title: 'Access tokens',
    align: 'end',
    cell: ({ activeAccessTokenCount }) => formatNumber(activeAccessTokenCount),
    isMinor: true,
  },
  {
    key: 'last',
    title: 'Last token',
    cell: ({ lastTokenIssuedAt }) => <Time value={lastTokenIssuedAt} />,
    isMinor: true,
  },
]
