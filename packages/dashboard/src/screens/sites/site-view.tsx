import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useAction, useApi, usePages } from '../../api/queries.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { Badge, PageHeader, Section, type Tone } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SafeLink } from '../../ui/safe-link.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { type Deploy, deleteSite, listDeploys, promoteDeploy, readSite, rollBack, type Site } from './api.ts'
import { SiteSettings } from './site-settings.tsx'

export function SiteView({ id }: { readonly id: string }) {
  const site = useApi(['sites', 'site', id], (signal) => readSite(id, signal))
  return <Loaded query={site}>{(found) => <SiteDetail site={found} />}</Loaded>
}

function SiteDetail({ site }: { readonly site: Site }) {
  const [isDeleting, setDeleting] = useState(false)
  const [, navigate] = useLocation()
  usePageTitle(site.name)

  return (
    <>
      <PageHeader
        title={site.name}
        asCode={{
          request: { method: 'GET', path: `/api/admin/sites/${site.id}/deploys` },
          command: `basalt sites deploys ${site.slug}`,
        }}
        actions={
          <Button variant="danger" needs="change" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        }
      >
        <Link href="/sites">Sites</Link> / {site.url === undefined ? site.slug : <SafeLink href={site.url} />}
      </PageHeader>
      <Deploys site={site} />
      <SiteSettings site={site} />
      {isDeleting && (
        <ConfirmAction
          title="Delete site"
          action="Delete site"
          name={site.slug}
          send={() => deleteSite(site.id)}
          invalidates={[['sites', 'list']]}
          done="Site deleted."
          onDone={() => navigate('/sites')}
          onClose={() => setDeleting(false)}
        >
          Deletes the site with its deploys and files. Its URL then returns 404.
        </ConfirmAction>
      )}
    </>
  )
}

const tones: Readonly<Record<Deploy['status'], Tone>> = {
  live: 'ok',
  uploading: 'accent',
  superseded: 'neutral',
  failed: 'danger',
}

function Deploys({ site }: { readonly site: Site }) {
  const deploys = usePages(['sites', 'deploys', site.id], (cursor, signal) =>
    listDeploys(site.id, cursor, signal),
  )
  const invalidates = [['sites']]
  const promotion = useAction(promoteDeploy, { invalidates, done: 'The deploy is live.' })
  const rollback = useAction(rollBack, { invalidates, done: 'The previous deploy is live.' })
  return (
    <Section
      title="Deploys"
      actions={
        <Button
          needs="change"
          onClick={() => rollback.run(site.id)}
          isPending={rollback.isPending}
          disabled={site.liveDeployId === undefined}
        >
          Roll back
        </Button>
      }
    >
      <List
        caption={`Deploys of ${site.name}`}
        of={deploys}
        empty="No deploys yet. A deploy is the folder of a build, and goes live at once."
        example={[`npx basalt sites deploy ./dist --site ${site.slug}`, 'Deploy command']}
        columns={[
          ['Created', ({ createdAt }) => <Time value={createdAt} />],
          [
            'State',
            ({ status, errorMessage }) => (
              <>
                <Badge tone={tones[status]}>{status}</Badge> {errorMessage}
              </>
            ),
          ],
          ['Files', (row) => formatNumber(row.fileCount), 'end'],
          ['Size', (row) => formatBytes(row.totalBytes), 'end'],
          ['Id', ({ id }) => <code>{id}</code>, 'minor'],
          [
            'Actions',
            ({ id, status }) =>
              status !== 'live' &&
              status !== 'failed' && (
                <Button
                  size="small"
                  needs="change"
                  aria-label={`Activate deploy ${id}`}
                  isPending={promotion.isPending}
                  onClick={() => promotion.run({ siteId: site.id, deployId: id })}
                >
                  Activate
                </Button>
              ),
            'actions',
          ],
        ]}
      />
    </Section>
  )
}
