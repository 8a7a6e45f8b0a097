import { useState } from 'react'
import { useLocation } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { LoadedRows } from '../../ui/states.tsx'
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
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/admin/apps' }} />
            <Button variant="primary" onClick={() => setCreating(true)}>
              Create app
            </Button>
          </>
        }
      >
        API keys and OAuth clients belong to an app. Their requests are limited and counted together.
      </PageHeader>
      <LoadedRows list={apps}>
        {(rows) => (
          <DataTable
            caption="Apps"
            rows={rows}
            rowKey={({ id }) => id}
            href={({ id }) => `/apps/${id}`}
            columns={columns}
            {...moreOf(apps)}
          />
        )}
      </LoadedRows>
      {isCreating && (
        <AppDialog onClose={() => setCreating(false)} onSaved={({ id }) => navigate(`/apps/${id}`)} />
      )}
    </>
  )
}

const columns: readonly Column<App>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => name, isCut: true },
  { key: 'limit', title: 'Limit', cell: describeLimit },
  {
    key: 'description',
    title: 'Description',
    cell: ({ description }) => description || '–',
    isCut: true,
    isMinor: true,
  },
  { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
]
