import { useState } from 'react'
import { useLocation } from 'wouter'
import { usePages } from '../../api/queries.ts'
import type { Column } from '../../ui/data-table.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { type App, listApps } from './api.ts'
import { AppDialog } from './app-dialog.tsx'
import { describeLimit } from './describe-limit.ts'

export function AppList() {
  const apps = usePages(['apps'], listApps)
  const [isCreating, setCreating] = useState(false)
  const [, navigate] = useLocation()
  return (
    <>
      <PageHeader
        title="Apps"
        asCode={{ request: { method: 'GET', path: '/api/admin/apps' } }}
        action={['Create app', () => setCreating(true)]}
      >
        API keys and OAuth clients belong to an app. Their requests are limited and counted together.
      </PageHeader>
      <List caption="Apps" of={apps} href={({ id }) => `/apps/${id}`} columns={columns} />
      {isCreating && (
        <AppDialog onClose={() => setCreating(false)} onSaved={({ id }) => navigate(`/apps/${id}`)} />
      )}
    </>
  )
}

const columns: readonly Column<App>[] = [
  ['Name', ({ name }) => name, 'cut'],
  ['Limit', describeLimit],
  ['Description', ({ description }) => description || '–', 'cut', 'minor'],
  ['Created', ({ createdAt }) => <Time value={createdAt} />, 'minor'],
]
