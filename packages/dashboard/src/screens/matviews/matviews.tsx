import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import {
  forgetMatview,
  listMatviews,
  type Matview,
  type RefreshMode,
  refreshMatview,
  registerMatview,
  setRefreshMode,
} from './api.ts'

const again = { invalidates: [['matviews']] }

export function MatviewsScreen() {
  const [isNew, setNew] = useState(false)
  const list = useApi(['matviews'], listMatviews, { refetchIntervalMs: 10_000 })
  return (
    <>
      <PageHeader
        title="Materialized views"
        actions={
          <>
            <AsCode
              request={{ method: 'GET', path: '/api/admin/matviews' }}
              sql="refresh materialized view concurrently …"
            />
            <Button variant="primary" onClick={() => setNew(true)}>
              Register a view
            </Button>
          </>
        }
      >
        Materialized views that the dashboard, the API or a schedule can refresh.
      </PageHeader>
      <Loaded query={list}>
        {({ items }) => (
          <DataTable
            caption="Materialized views"
            rows={items}
            rowKey={(view) => view.id}
            empty="No materialized views are registered."
            columns={[
              { key: 'name', title: 'View', cell: ({ schemaName, viewName }) => `${schemaName}.${viewName}` },
              { key: 'mode', title: 'Mode', isMinor: true, cell: ({ refreshMode }) => refreshMode },
              { key: 'state', title: 'Last refresh', cell: (view) => <LastRefresh view={view} /> },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (view) => <Actions view={view} />,
              },
            ]}
          />
        )}
      </Loaded>
      {isNew && <RegisterDialog onClose={() => setNew(false)} />}
    </>
  )
}

function LastRefresh({ view }: { readonly view: Matview }) {
  const { lastRefreshStatus: status, lastRefreshAt, lastRefreshDurationMs, lastRefreshError } = view
  if (status === null) return <>never</>
  return (
    <>
      <Badge tone={status === 'success' ? 'ok' : 'danger'}>{status}</Badge> <Time value={lastRefreshAt} />
      {lastRefreshDurationMs !== null && `, ${formatDuration(lastRefreshDurationMs)}`}
      {lastRefreshError !== null && <p>{lastRefreshError}</p>}
    </>
  )
}

function Actions({ view: { id, viewName, refreshMode } }: { readonly view: Matview }) {
  const refresh = useAction(refreshMatview, {
    ...again,
    done: ({ durationMs }) => `${viewName} refreshed in ${formatDuration(durationMs)}.`,
  })
  const change = useAction(setRefreshMode, again)
  const forget = useAction(forgetMatview, {
    ...again,
    done: `${viewName} is no longer registered. The view itself still exists.`,
  })
  const other = refreshMode === 'standard' ? 'concurrent' : 'standard'
  return (
    <>
      <Button size="small" isPending={refresh.isPending} onClick={() => refresh.run(id)}>
        Refresh
      </Button>{' '}
      <Menu
        label="More"
        name={`More for ${viewName}`}
        size="small"
        items={[
          { label: `Refresh in ${other} mode`, onSelect: () => change.run({ id, refreshMode: other }) },
          { label: 'Unregister', isDangerous: true, onSelect: () => forget.run(id) },
        ]}
      />
    </>
  )
}

function RegisterDialog({ onClose }: { readonly onClose: () => void }) {
  const [schema, setSchema] = useState('public')
  const [viewName, setViewName] = useState('')
  const [refreshMode, setMode] = useState<RefreshMode>('standard')
  const action = useAction(registerMatview, {
    ...again,
    failure: 'view',
    done: 'View registered.',
    onDone: onClose,
  })
  return (
    <FormDialog
      title="Register a materialized view"
      action="Register view"
      size="small"
      error={action.error}
      isPending={action.isPending}
      onSubmit={() => action.run({ schema, viewName, refreshMode })}
      onClose={onClose}
    >
      <TextField label="Schema" value={schema} onChange={setSchema} isCode />
      <TextField label="View" value={viewName} onChange={setViewName} isCode required />
      <Select
        label="Mode"
        value={refreshMode}
        onChange={setMode}
        choices={[
          { value: 'standard', label: 'standard: blocks readers' },
          { value: 'concurrent', label: 'concurrent: requires a unique index' },
        ]}
      />
    </FormDialog>
  )
}
