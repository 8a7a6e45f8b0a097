import { useState } from 'react'
import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { appLink, userLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { RowActions } from '../../ui/data-table.tsx'
import { KeyValue, PageHeader, Section } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
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
  const may = usePermissions()
  usePageTitle(name)
  const close = () => setDialog(undefined)
  const options = { invalidates: [['oauth-clients']], failure: 'view' } as const

  const isInForce = revokedAt === null
  return (
    <>
      <PageHeader
        title={name}
        asCode={{
          request: { method: 'GET', path: `/api/admin/oauth/clients/${encodeURIComponent(clientId)}` },
        }}
        actions={
          <>
            <Button
              needs="change"
              disabled={!isInForce || source === 'document'}
              onClick={() => setDialog('edit')}
            >
              Edit
            </Button>
            <Button
              needs="change"
              disabled={!isInForce || clientType === 'public'}
              onClick={() => setDialog('rotate')}
            >
              New secret
            </Button>
            <Button needs="change" disabled={!isInForce} onClick={() => setDialog('revoke')}>
              Revoke
            </Button>
          </>
        }
      >
        <Link href="/oauth-clients">All clients</Link>
      </PageHeader>
      <KeyValue
        pairs={[
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
      {may('users.read') && (
        <Section title="Users with a grant">
          <GrantTable clientId={clientId} />
        </Section>
      )}
      {dialog === 'edit' && <ClientDialog client={client} onClose={close} onSaved={close} />}
      {dialog === 'rotate' && (
        <ConfirmAction
          title="Create a new secret?"
          action="Create new secret"
          send={() => rotateSecret(clientId)}
          {...options}
          onDone={({ clientSecret }) => {
            close()
            setSecret(clientSecret)
          }}
          onClose={close}
        >
          The previous secret stops working immediately.
        </ConfirmAction>
      )}
      {dialog === 'revoke' && (
        <ConfirmAction
          title={`Revoke ${name}?`}
          action="Revoke client"
          send={() => revokeClient(clientId)}
          {...options}
          done="Client revoked. Its tokens expire within a second."
          onClose={close}
        >
          All grants of users and of the client itself end. This cannot be undone.
        </ConfirmAction>
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
    <List
      caption="Grants"
      of={grants}
      empty="No user has granted access yet. The client requests it when a user signs in with it."
      columns={[
        ['User', ({ userId, email }) => <Link href={userLink(userId)}>{email || userId}</Link>, 'cut'],
        ['Scope', ({ scope }) => scope],
        ['Tables', ({ allowedTables }) => allowedTables.join(', ') || 'all'],
        ['Last token', ({ lastTokenIssuedAt }) => <Time value={lastTokenIssuedAt} />, 'minor'],
        [
          'Actions',
          (grant) => (
            <RowActions
              of={`grant of ${grant.email || grant.userId}`}
              actions={[['Revoke', () => revoke.run(grant), 'users.manage']]}
            />
          ),
          'actions',
        ],
      ]}
    />
  )
}
