import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { moreOf, useAction, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { SafeLink } from '../../ui/safe-link.tsx'
import { EmptyState, LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { createSite, listSites } from './api.ts'

export function SitesView() {
  const sites = usePages(['sites', 'list'], listSites)
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Sites"
        actions={
          <>
            <Link href="/sites/domains">Domains</Link>
            <AsCode request={{ method: 'GET', path: '/api/admin/sites' }} command="basalt sites list" />
            <Button variant="primary" onClick={() => setCreating(true)}>
              New site
            </Button>
          </>
        }
      >
        Static sites, each on its own host.
      </PageHeader>
      <LoadedRows list={sites}>
        {(rows) => (
          <DataTable
            caption="Sites"
            rows={rows}
            rowKey={({ id }) => id}
            href={({ id }) => `/sites/${id}`}
            empty={
              <EmptyState
                icon="globe"
                action="Add the first site"
                onAct={() => setCreating(true)}
                code={'npx basalt sites deploy ./dist --site my-site'}
                label="Deploy command"
              >
                No sites yet. A site serves the files of a build on a host of its own.
              </EmptyState>
            }
            columns={[
              { key: 'name', title: 'Name', cell: ({ name }) => name },
              {
                key: 'state',
                title: 'State',
                cell: ({ liveDeployId }) =>
                  liveDeployId === undefined ? <Badge>Nothing live</Badge> : <Badge tone="ok">Live</Badge>,
              },
              {
                key: 'url',
                title: 'Address',
                cell: ({ url, slug }) => (url === undefined ? slug : <SafeLink href={url} />),
              },
              {
                key: 'created',
                title: 'Created',
                isMinor: true,
                cell: ({ createdAt }) => <Time value={createdAt} />,
              },
            ]}
            {...moreOf(sites)}
          />
        )}
      </LoadedRows>
      {isCreating && <NewSite onClose={() => setCreating(false)} />}
    </>
  )
}

function NewSite({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [typed, setSlug] = useState<string>()
  const slug = typed ?? slugOf(name)
  const [spaMode, setSpaMode] = useState(false)
  const [, navigate] = useLocation()
  const action = useAction(createSite, {
    invalidates: [['sites', 'list']],
    done: 'Site created.',
    failure: 'view',
    onDone: (site) => navigate(`/sites/${site.id}`),
  })
  return (
    <FormDialog
      title="New site"
      action="Create site"
      isDisabled={name === '' || slug === ''}
      isPending={action.isPending}
      error={action.error}
      onSubmit={() => action.run({ name, slug, spaMode })}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} required />
      <TextField
        label="Slug"
        value={slug}
        onChange={setSlug}
        isCode
        hint="First label of the host name: shop.example.com."
        required
      />
      <Checkbox
        label="Single-page application"
        hint="Requests for missing paths return index.html."
        checked={spaMode}
        onChange={setSpaMode}
      />
    </FormDialog>
  )
}

/** Converts a name to a DNS label. */
const slugOf = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-|-$/g, '')
