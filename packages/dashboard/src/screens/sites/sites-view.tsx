import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { usePages } from '../../api/queries.ts'
import { code, text } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SafeLink } from '../../ui/safe-link.tsx'
import { Time } from '../../ui/time.tsx'
import { createSite, listSites } from './api.ts'
import { spaField } from './site-settings.tsx'

export function SitesView() {
  const sites = usePages(['sites', 'list'], listSites)
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Sites"
        asCode={{ request: { method: 'GET', path: '/api/admin/sites' }, command: 'basalt sites list' }}
        actions={<Link href="/sites/domains">Domains</Link>}
        action={['New site', () => setCreating(true)]}
      >
        Static sites, each on its own host.
      </PageHeader>
      <List
        caption="Sites"
        of={sites}
        href={({ id }) => `/sites/${id}`}
        empty="No sites yet. A site serves the files of a build on a host of its own."
        first={['Add the first site', () => setCreating(true)]}
        example={['npx basalt sites deploy ./dist --site my-site', 'Deploy command']}
        columns={[
          ['Name', ({ name }) => name],
          [
            'State',
            ({ liveDeployId }) =>
              liveDeployId === undefined ? <Badge>Nothing live</Badge> : <Badge tone="ok">Live</Badge>,
          ],
          ['Address', ({ url, slug }) => (url === undefined ? slug : <SafeLink href={url} />)],
          ['Created', ({ createdAt }) => <Time value={createdAt} />, 'minor'],
        ]}
      />
      {isCreating && <NewSite onClose={() => setCreating(false)} />}
    </>
  )
}

function NewSite({ onClose }: { readonly onClose: () => void }) {
  const [, navigate] = useLocation()
  return (
    <ActionForm
      title="New site"
      action="Create site"
      start={{ name: '', slug: '', spaMode: false }}
      fields={() => ({
        name: text('Name', { required: true }),
        slug: code('Slug', { hint: 'First label of the host name: shop.example.com.', required: true }),
        spaMode: spaField,
      })}
      // The slug follows the name until it is edited.
      correct={(next, previous) =>
        next.name !== previous.name && previous.slug === slugOf(previous.name)
          ? { ...next, slug: slugOf(next.name) }
          : next
      }
      send={createSite}
      invalidates={[['sites', 'list']]}
      done="Site created."
      onDone={(site) => navigate(`/sites/${site.id}`)}
      onClose={onClose}
    />
  )
}

/** Converts a name to a DNS label. */
const slugOf = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-|-$/g, '')
