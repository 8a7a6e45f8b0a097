import { useState } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/code.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Badge, PageHeader, type Tone } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { createDomain, type Domain, deleteDomain, listDomains, verifyDomain } from './api.ts'

const tones: Readonly<Record<string, Tone>> = {
  active: 'ok',
  verified: 'ok',
  pending_verification: 'warning',
}

export function DomainsView() {
  const domains = useApi(['domains'], listDomains)
  const [isCreating, setCreating] = useState(false)
  const [deleting, setDeleting] = useState<Domain>()
  const invalidates = [['domains'], ['sites']]
  const verification = useAction(verifyDomain, {
    invalidates,
    done: ({ hostname, status }) => `${hostname} is ${status}.`,
  })
  const deletion = useAction(deleteDomain, {
    invalidates,
    done: 'Domain deleted.',
    failure: 'view',
    onDone: () => setDeleting(undefined),
  })
  return (
    <>
      <PageHeader
        title="Domains"
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/admin/domains' }} />
            <Button variant="primary" onClick={() => setCreating(true)}>
              New domain
            </Button>
          </>
        }
      >
        <Link href="/sites">Sites</Link> / Publish the verification record of a domain and a record that
        points to this server, then verify it. Keep the verification record, because it is checked every day.
      </PageHeader>
      <Loaded query={domains}>
        {(rows) => (
          <DataTable
            caption="Domains"
            rows={rows}
            rowKey={({ id }) => id}
            empty="No domains are registered."
            columns={[
              { key: 'host', title: 'Host', cell: ({ hostname }) => hostname },
              {
                key: 'status',
                title: 'State',
                cell: ({ status, lastError, checkedAt }) => (
                  <>
                    <Badge tone={tones[status] ?? 'danger'}>{status.replaceAll('_', ' ')}</Badge> {lastError}
                    {checkedAt !== undefined && (
                      <>
                        {' '}
                        Checked <Time value={checkedAt} />
                      </>
                    )}
                  </>
                ),
              },
              {
                key: 'record',
                title: 'Record to publish',
                cell: ({ verification: record }) => (
                  <>
                    {record.type} <code>{record.name}</code> = <code>{record.value}</code>{' '}
                    <CopyButton text={record.value} label={`the value of ${record.name}`} />
                  </>
                ),
              },
              {
                key: 'site',
                title: 'Site',
                isMinor: true,
                cell: ({ siteId }) => siteId !== undefined && <Link href={`/sites/${siteId}`}>Site</Link>,
              },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (domain) => (
                  <Menu
                    label="Actions"
                    name={`Actions of ${domain.hostname}`}
                    size="small"
                    items={[
                      {
                        label: 'Verify',
                        disabled: verification.isPending,
                        onSelect: () => verification.run(domain.id),
                      },
                      { label: 'Delete', isDangerous: true, onSelect: () => setDeleting(domain) },
                    ]}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {isCreating && <NewDomain onClose={() => setCreating(false)} />}
      {deleting !== undefined && (
        <ConfirmDialog
          title="Delete domain"
          action="Delete domain"
          name={deleting.hostname}
          isPending={deletion.isPending}
          error={deletion.error}
          onConfirm={() => deletion.run(deleting.id)}
          onClose={() => setDeleting(undefined)}
        >
          Its requests get status 421 for a month. Its site is still available below the parent domain.
        </ConfirmDialog>
      )}
    </>
  )
}

const redirects = [
  { value: '', label: 'None: both hosts serve the site' },
  { value: 'permanent', label: 'Permanent (308)' },
  { value: 'temporary', label: 'Temporary (307)' },
] as const

function NewDomain({ onClose }: { readonly onClose: () => void }) {
  const [hostname, setHostname] = useState('')
  const [environment, setEnvironment] = useState('')
  const [redirect, setRedirect] = useState<(typeof redirects)[number]['value']>('')
  const action = useAction(createDomain, {
    invalidates: [['domains']],
    done: 'Domain registered. Publish its record next.',
    failure: 'view',
    onDone: onClose,
  })
  const send = () =>
    action.run({ hostname, environment: environment || undefined, redirectMode: redirect || undefined })
  return (
    <FormDialog
      title="New domain"
      action="Register domain"
      isDisabled={hostname === ''}
      isPending={action.isPending}
      error={action.error}
      onSubmit={send}
      onClose={onClose}
    >
      <TextField label="Host name" value={hostname} onChange={setHostname} isCode hint="www.example.com" />
      <TextField
        label="Environment"
        value={environment}
        onChange={setEnvironment}
        isCode
        hint="Any label. Leave empty for production."
      />
      <Select
        label="Redirect from the host below the parent domain"
        value={redirect}
        choices={redirects}
        onChange={setRedirect}
      />
    </FormDialog>
  )
}
