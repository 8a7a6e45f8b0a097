import { useState } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { CopyButton } from '../../ui/code.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { choice, code, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Badge, PageHeader, type Tone } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
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

  return (
    <>
      <PageHeader
        title="Domains"
        asCode={{ request: { method: 'GET', path: '/api/admin/domains' } }}
        action={['New domain', () => setCreating(true)]}
      >
        <Link href="/sites">Sites</Link> / Publish the verification record of a domain and a record that
        points to this server, then verify it. Keep the verification record, because it is checked every day.
      </PageHeader>
      <List
        caption="Domains"
        of={domains}
        empty="No domains yet. A site is served at your own domain once its record is published and verified."
        first={['Register the first domain', () => setCreating(true)]}
        columns={[
          ['Host', ({ hostname }) => hostname],
          [
            'State',
            ({ status, lastError, checkedAt }) => (
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
          ],
          [
            'Record to publish',
            ({ verification: record }) => (
              <>
                {record.type} <code>{record.name}</code> = <code>{record.value}</code>{' '}
                <CopyButton text={record.value} label={`the value of ${record.name}`} />
              </>
            ),
          ],
          [
            'Site',
            ({ siteId }) => siteId !== undefined && <Link href={`/sites/${siteId}`}>Site</Link>,
            'minor',
          ],
          [
            'Actions',
            (domain) => (
              <Menu
                label="Actions"
                name={`Actions of ${domain.hostname}`}
                size="small"
                items={[
                  {
                    label: 'Verify',
                    needs: 'change',
                    disabled: verification.isPending,
                    onSelect: () => verification.run(domain.id),
                  },
                  {
                    label: 'Delete',
                    isDangerous: true,
                    onSelect: () => setDeleting(domain),
                    needs: 'change',
                  },
                ]}
              />
            ),
            'actions',
          ],
        ]}
      />
      {isCreating && <NewDomain onClose={() => setCreating(false)} />}
      {deleting !== undefined && (
        <ConfirmAction
          title="Delete domain"
          action="Delete domain"
          name={deleting.hostname}
          send={() => deleteDomain(deleting.id)}
          invalidates={invalidates}
          done="Domain deleted."
          onClose={() => setDeleting(undefined)}
        >
          Its requests get status 421 for a month. Its site is still available below the parent domain.
        </ConfirmAction>
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
  return (
    <ActionForm
      title="New domain"
      action="Register domain"
      start={{ hostname: '', environment: '', redirectMode: valueIn(redirects, '') }}
      fields={() => ({
        hostname: code('Host name', { hint: 'www.example.com', required: true }),
        environment: code('Environment', { hint: 'Any label. Leave empty for production.' }),
        redirectMode: choice('Redirect from the host below the parent domain', redirects),
      })}
      send={({ hostname, environment, redirectMode }) =>
        createDomain({
          hostname,
          environment: environment || undefined,
          redirectMode: redirectMode || undefined,
        })
      }
      invalidates={[['domains']]}
      done="Domain registered. Publish its record next."
      onClose={onClose}
    />
  )
}
