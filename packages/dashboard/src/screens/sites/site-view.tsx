import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { moreOf, useAction, useApi, usePages } from '../../api/queries.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { Badge, PageHeader, Section, type Tone } from '../../ui/layout.tsx'
import { SafeLink } from '../../ui/safe-link.tsx'
import { Loaded, LoadedRows } from '../../ui/states.tsx'
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
  const deletion = useAction(deleteSite, {
    invalidates: [['sites', 'list']],
    done: 'Site deleted.',
    failure: 'view',
    onDone: () => navigate('/sites'),
  })
  return (
    <>
      <PageHeader
        title={site.name}
        actions={
          <>
            <AsCode
              request={{ method: 'GET', path: `/api/admin/sites/${site.id}/deploys` }}
              command={`basalt sites deploys ${site.slug}`}
            />
            <Button variant="danger" onClick={() => setDeleting(true)}>
              Delete
            </Button>
          </>
        }
      >
        <Link href="/sites">Sites</Link> / {site.url === undefined ? site.slug : <SafeLink href={site.url} />}
      </PageHeader>
      <Deploys site={site} />
      <SiteSettings site={site} />
      {isDeleting && (
        <ConfirmDialog
          title="Delete site"
          action="Delete site"
          name={site.slug}
          isPending={deletion.isPending}
          error={deletion.error}
          onConfirm={() => deletion.run(site.id)}
          onClose={() => setDeleting(false)}
        >
          Deletes the site with its deploys and files. Its URL then returns 404.
        </ConfirmDialog>
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
          onClick={() => rollback.run(site.id)}
          isPending={rollback.isPending}
          disabled={site.liveDeployId === undefined}
        >
          Roll back
        </Button>
      }
    >
      <LoadedRows list={deploys}>
        {(rows) => (
          <DataTable
            caption={`Deploys of ${site.name}`}
            rows={rows}
            rowKey={({ id }) => id}
            empty={
              <>
                <p>No deploys yet. Deploy the folder of a build with:</p>
                <Code label="Deploy command">{`npx basalt sites deploy ./dist --site ${site.slug}`}</Code>
              </>
            }
            columns={[
              { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time value={createdAt} /> },
              {
                key: 'status',
                title: 'State',
                cell: ({ status, errorMessage }) => (
                  <>
                    <Badge tone={tones[status]}>{status}</Badge> {errorMessage}
                  </>
                ),
              },
              { key: 'files', title: 'Files', align: 'end', cell: (row) => formatNumber(row.fileCount) },
              { key: 'size', title: 'Size', align: 'end', cell: (row) => formatBytes(row.totalBytes) },
              { key: 'id', title: 'Id', isMinor: true, cell: ({ id }) => <code>{id}</code> },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: ({ id, status }) =>
                  status !== 'live' &&
                  status !== 'failed' && (
                    <Button
                      size="small"
                      aria-label={`Activate deploy ${id}`}
                      isPending={promotion.isPending}
                      onClick={() => promotion.run({ siteId: site.id, deployId: id })}
                    >
                      Activate
                    </Button>
                  ),
              },
            ]}
            {...moreOf(deploys)}
          />
        )}
      </LoadedRows>
    </Section>
  )
}
