import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { requestsLink, usageLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { formatNumber } from '../../ui/format.ts'
import { KeyValue, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { UserLink } from '../activity/links.tsx'
import { KeyTable } from '../api-keys/key-table.tsx'
import { ClientTable } from '../oauth-clients/client-table.tsx'
import { type App, defaultAppId, deleteApp, readApp, readRateLimit } from './api.ts'
import { AppDialog } from './app-dialog.tsx'
import { describeLimit } from './describe-limit.ts'

export function AppDetail({ id }: { readonly id: string }) {
  const app = useApi(['apps', 'one', id], (signal) => readApp(id, signal))
  return <Loaded query={app}>{(found) => <LoadedApp app={found} />}</Loaded>
}

function LoadedApp({ app }: { readonly app: App }) {
  const { id, name, description, ownerUserId, createdAt } = app
  const [dialog, setDialog] = useState<'edit' | 'delete'>()
  const [, navigate] = useLocation()
  usePageTitle(name)

  const close = () => setDialog(undefined)
  return (
    <>
      <PageHeader
        title={name}
        asCode={{ request: { method: 'GET', path: `/api/admin/apps/${id}` } }}
        actions={
          <>
            <Button needs="change" onClick={() => setDialog('edit')}>
              Edit
            </Button>
            <Button needs="change" disabled={id === defaultAppId} onClick={() => setDialog('delete')}>
              Delete
            </Button>
          </>
        }
      >
        <Link href="/apps">All apps</Link> · <Link href={usageLink({ app: id })}>Usage</Link> ·{' '}
        <Link href={requestsLink({ app_id: id })}>Requests</Link>
      </PageHeader>
      <KeyValue
        pairs={[
          ['Id', <code key="id">{id}</code>],
          ['Description', description || '–'],
          ['Owner', <UserLink key="owner" id={ownerUserId} />],
          ['Limit', describeLimit(app)],
          ...(app.rateLimitRps === 0
            ? []
            : [['Used in this window', <LimitUse key="use" id={id} />] as const]),
          ['Created', <Time key="created" value={createdAt} />],
        ]}
      />
      <Section title="API keys">
        <KeyTable appId={id} />
      </Section>
      <Section title="OAuth clients">
        <ClientTable appId={id} />
      </Section>
      {dialog === 'edit' && <AppDialog app={app} onClose={close} onSaved={close} />}
      {dialog === 'delete' && (
        <ConfirmAction
          title={`Delete ${name}?`}
          action="Delete app"
          name={name}
          send={() => deleteApp(id)}
          invalidates={[['apps'], ['api-keys']]}
          done="App deleted. Its keys are revoked."
          onDone={() => navigate('/apps')}
          onClose={close}
        >
          Its API keys are revoked. Its OAuth clients and their grants are deleted. This cannot be undone.
        </ConfirmAction>
      )}
    </>
  )
}

function LimitUse({ id }: { readonly id: string }) {
  const use = useApi(['apps', 'rate-limit', id], (signal) => readRateLimit(id, signal), {
    refetchIntervalMs: 5000,
  })
  return (
    <Loaded query={use}>
      {({ used, limit }) => (
        <>
          <meter min={0} max={limit} high={limit * 0.9} value={used} aria-label="Used part of the limit" />{' '}
          {formatNumber(used)} of {formatNumber(limit)}
        </>
      )}
    </Loaded>
  )
}
