import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { choice, code, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Time } from '../../ui/time.tsx'
import {
  forgetMatview,
  listMatviews,
  type Matview,
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
        asCode={{
          request: { method: 'GET', path: '/api/admin/matviews' },
          sql: 'refresh materialized view concurrently …',
        }}
        action={['Register a view', () => setNew(true)]}
      >
        Materialized views that the dashboard, the API or a schedule can refresh.
      </PageHeader>
      <List
        caption="Materialized views"
        of={list}
        empty="No views are registered. A registered view is refreshed here, by the API or by a schedule."
        first={['Register the first view', () => setNew(true)]}
        example={['create materialized view top_books as\n  select …;']}
        columns={[
          ['View', ({ schemaName, viewName }) => `${schemaName}.${viewName}`],
          ['Mode', ({ refreshMode }) => refreshMode, 'minor'],
          ['Last refresh', (view) => <LastRefresh view={view} />],
          ['Actions', (view) => <Actions view={view} />, 'actions'],
        ]}
      />
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
      <Button needs="change" size="small" isPending={refresh.isPending} onClick={() => refresh.run(id)}>
        Refresh
      </Button>{' '}
      <Menu
        label="More"
        name={`More for ${viewName}`}
        size="small"
        items={[
          {
            label: `Refresh in ${other} mode`,
            onSelect: () => change.run({ id, refreshMode: other }),
            needs: 'change',
          },
          { label: 'Unregister', isDangerous: true, onSelect: () => forget.run(id), needs: 'change' },
        ]}
      />
    </>
  )
}

const modes = [
  { value: 'standard', label: 'standard: blocks readers' },
  { value: 'concurrent', label: 'concurrent: requires a unique index' },
] as const

function RegisterDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <ActionForm
      title="Register a materialized view"
      action="Register view"
      size="small"
      start={{ schema: 'public', viewName: '', refreshMode: valueIn(modes, 'standard') }}
      fields={() => ({
        schema: code('Schema'),
        viewName: code('View', { required: true }),
        refreshMode: choice('Mode', modes),
      })}
      send={registerMatview}
      {...again}
      done="View registered."
      onClose={onClose}
    />
  )
}
