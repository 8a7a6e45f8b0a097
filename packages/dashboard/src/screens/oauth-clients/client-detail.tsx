import { useState } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { appLink, userLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { KeyValue, PageHeader, Section } from '../../ui/layout.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { revokeGrant } from '../users/api.ts'
import { listGrantsTo, type OAuthClient, readClient, revokeClient, rotateSecret } from './api.ts'
import { ClientDialog } from './client-dialog.tsx'
import { ClientState } from './client-table.tsx'

export function ClientDetail({ clientId }: { readonly clientId: string }) {
  const client = useApi(['oauth-clients', 'one', clientId], (signal) => readClient(clientId, signal))
  return <Loaded query={client}>{(found) => <LoadedClient client={found} />}</Loaded>
}

function LoadedClient({ client }: { readonly client: OAuthClient }) {
  const { clientId, name, clientType, revokedAt, source } = client
  const [dialog, setDialog] = useState<'edit' | 'revoke' | 'rotate'>()
  const [secret, setSecret] = useState<string>()
  usePageTitle(name)
  const close = () => setDialog(undefined)
  const options = { invalidates: [['oauth-clients']], failure: 'view' } as const
  const revoke = useAction(() => revokeClient(clientId), {
    ...options,
    done: 'Client revoked. Its tokens expire within a second.',
    onDone: close,
  })
  const rotate = useAction(() => rotateSecret(clientId), {
    ...options,
    onDone({ clientSecret }) {
      close()
      setSecret(clientSecret)
    },
  })
  const isInForce = revokedAt === null
  return (
    <>
      <PageHeader
        title={name}
        actions={
          <>
            <AsCode
              request={{ method: 'GET', path: `/api/admin/oauth/clients/${encodeURIComponent(clientId)}` }}
            />
            <Button disabled={!isInForce || source === 'document'} onClick={() => setDialog('edit')}>
              Edit
            </Button>
            <Button disabled={!isInForce || clientType === 'public'} onClick={() => setDialog('rotate')}>
              New secret
            </Button>
            <Button disabled={!isInForce} onClick={() => setDialog('revoke')}>
              Revoke
            </Button>
          </>
        }
      >
        <Link href="/oauth-clients">All clients</Link>
      </PageHeader>
      <KeyValue
        items={[
          ['Client id', <code key="id">{clientId}</code>],
          ['State', <ClientState key="state" client={client} />],
          ['Type', clientType],
          ['Registered by', source],
          [
            'App',
            client.appId === null ? (
              '–'
            ) : (
              <Link key="app" href={appLink(client.appId)}>
                {client.appId}
              </Link>
            ),
          ],
          ['Scopes', client.scopes.join(', ')],
          // The addresses are text, because an address from a client must not be followed.
          ['Redirect URIs', client.redirectUris.join(' ')],
          [
            'Valid tokens',
            `${client.activeAccessTokenCount} access, ${client.activeRefreshTokenCount} refresh`,
          ],
          ['Last token', <Time key="last" value={client.lastTokenIssuedAt} />],
        ]}
      />
      <Section title="Users with a grant">
        <GrantTable clientId={clientId} />
      </Section>
      {dialog === 'edit' && <ClientDialog client={client} onClose={close} onSaved={close} />}
      {dialog === 'rotate' && (
        <ConfirmDialog
          title="Create a new secret?"
          action="Create new secret"
          isPending={rotate.isPending}
          error={rotate.error}
          onConfirm={() => rotate.run()}
          onClose={close}
        >
          The previous secret stops working immediately.
        </ConfirmDialog>
      )}
      {dialog === 'revoke' && (
        <ConfirmDialog
          title={`Revoke ${name}?`}
          action="Revoke client"
          isPending={revoke.isPending}
          error={revoke.error}
          onConfirm={() => revoke.run()}
          onClose={close}
        >
          All grants of users and of the client itself end. This cannot be undone.
        </ConfirmDialog>
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

function GrantTable({ clientId }: { readonly clientId: string }) {
  const grants = useApi(['oauth-clients', 'grants', clientId], (signal) => listGrantsTo(clientId, signal))
  const revoke = useAction(({ userId, id }: { userId: string; id: string }) => revokeGrant(userId, id), {
    invalidates: [['oauth-clients']],
    done: 'Grant revoked. Its tokens expire within a second.',
  })
  return (
    <Loaded query={grants}>
      {(rows) => (
        <DataTable
          caption="Grants"
          rows={rows}
          rowKey={({ id }) => id}
          empty="No user has granted access."
          columns={[
            {
              key: 'user',
              title: 'User',
              cell: ({ userId, email }) => <Link href={userLink(userId)}>{email || userId}</Link>,
              isCut: true,
            },
            { key: 'scope', title: 'Scope', cell: ({ scope }) => scope },
            {
              key: 'tables',
              title: 'Tables',
              cell: ({ allowedTables }) => allowedTables.join(', ') || 'all',
            },
            {
              key: 'last',
              title: 'Last token',
              cell: ({ lastTokenIssuedAt }) => <Time value={lastTokenIssuedAt} />,
              isMinor: true,
            },
            {
              key: 'revoke',
              title: 'Actions',
              align: 'end',
              cell: (grant) => (
                <Button
                  size="small"
                  aria-label={`Revoke grant of ${grant.email || grant.userId}`}
                  onClick={() => revoke.run(grant)}
                >
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
    </Loaded>
  )
}
