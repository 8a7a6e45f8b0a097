import { useSearchParams } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { RequestLink, RowLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { type AuditEntry, auditFilters, listAudit } from './api.ts'
import { AuditDetails } from './entry-details.tsx'

const actors = ['admin', 'user', 'open', 'sql', 'command line']
const operations = ['INSERT', 'UPDATE', 'DELETE']
const choicesOf = (all: string, options: readonly string[]) => [
  { value: '', label: all },
  ...options.map((value) => ({ value, label: value })),
]

export function AuditScreen() {
  const { values, settled, set, isFiltered, clear } = useFilters(auditFilters)
  const [search, setSearch] = useSearchParams()
  const list = usePages(['audit', settled], (cursor, signal) => listAudit(settled, cursor, signal))
  const shownId = search.get('entry')
  const show = (id: string | undefined) => setSearch((before) => withParameters(before, { entry: id }))
  return (
    <>
      <PageHeader
        title="Audit"
        actions={
          <AsCode
            request={{ method: 'GET', path: queryPath('/api/admin/audit', settled) }}
            command="basalt audit"
          />
        }
      >
        Actions of administrators, and changes in audited tables.
      </PageHeader>
      <Toolbar label="Audit log filter">
        <FilterField
          label="Action"
          placeholder="Action: webhooks.create"
          value={values.action ?? ''}
          onChange={(action) => set({ action })}
        />
        <Select
          label="By"
          hidesLabel
          value={values.actor ?? ''}
          choices={choicesOf('By anyone', actors)}
          onChange={(actor) => set({ actor })}
        />
        <FilterField label="Table" value={values.table ?? ''} onChange={(table) => set({ table })} />
        <Select
          label="Operation"
          hidesLabel
          value={values.operation ?? ''}
          choices={choicesOf('All operations', operations)}
          onChange={(operation) => set({ operation })}
        />
        <FilterField
          label="Record"
          placeholder="Record key"
          value={values.record_id ?? ''}
          onChange={(id) => set({ record_id: id })}
        />
        <FilterField
          label="From"
          placeholder="From: 2026-01-31"
          value={values.from ?? ''}
          onChange={(from) => set({ from })}
        />
        {isFiltered && <Button onClick={clear}>Clear</Button>}
      </Toolbar>
      <LoadedRows list={list}>
        {(rows) => (
          <>
            <DataTable
              caption="Audit log"
              rows={rows}
              rowKey={({ id }) => id}
              selectedKey={shownId ?? undefined}
              empty={isFiltered ? 'No entries match.' : 'No entries yet.'}
              columns={[
                { key: 'time', title: 'Time', cell: (entry) => <Time value={entry.timestamp} /> },
                {
                  key: 'action',
                  title: 'Action',
                  cell: (entry) => (
                    <Button variant="plain" size="small" onClick={() => show(entry.id)}>
                      <code>{entry.action}</code>
                    </Button>
                  ),
                },
                { key: 'actor', title: 'By', cell: (entry) => entry.actor },
                { key: 'target', title: 'On', isCut: true, cell: (entry) => <Target entry={entry} /> },
                { key: 'address', title: 'Address', isMinor: true, cell: (entry) => entry.ip_address ?? '–' },
                {
                  key: 'request',
                  title: 'Request',
                  isMinor: true,
                  cell: (entry) => <RequestLink id={entry.request_id} />,
                },
              ]}
              {...moreOf(list)}
            />
            <EntryPanel entry={rows.find(({ id }) => id === shownId)} onClose={() => show(undefined)} />
          </>
        )}
      </LoadedRows>
    </>
  )
}

function Target({ entry }: { readonly entry: AuditEntry }) {
  if (entry.table_name !== null) return <RowLink table={entry.table_name} id={entry.record_id} />
  return entry.target === null ? '–' : <code>{entry.target}</code>
}

function EntryPanel({
  entry,
  onClose,
}: {
  readonly entry: AuditEntry | undefined
  readonly onClose: () => void
}) {
  return (
    entry !== undefined && (
      <SidePanel title={entry.action} size="wide" onClose={onClose}>
        <AuditDetails entry={entry} />
      </SidePanel>
    )
  )
}
