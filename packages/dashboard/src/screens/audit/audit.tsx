import { useSearchParams } from 'wouter'
import { usePages } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { Button } from '../../ui/button.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { choicesOf, Filters } from '../activity/filters.tsx'
import { RequestLink, RowLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { type AuditEntry, auditFilters, listAudit } from './api.ts'
import { AuditDetails } from './entry-details.tsx'

const actors = choicesOf('By anyone', ['admin', 'user', 'function as admin', 'open', 'sql', 'command line'])
const operations = choicesOf('All operations', ['INSERT', 'UPDATE', 'DELETE'])

export function AuditScreen() {
  const filters = useFilters(auditFilters)
  const { settled, isFiltered } = filters
  const [search, setSearch] = useSearchParams()
  const list = usePages(['audit', settled], (cursor, signal) =>
    listAudit(withInstants(settled), cursor, signal),
  )
  const shownId = search.get('entry')
  const show = (id: string | undefined) => setSearch((before) => withParameters(before, { entry: id }))
  return (
    <>
      <PageHeader
        title="Audit"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/audit', withInstants(settled)) },
          command: 'basalt audit',
        }}
      >
        Actions of administrators, and changes in audited tables.
      </PageHeader>
      <Filters
        label="Audit log filter"
        filters={filters}
        fields={[
          { name: 'action', label: 'Action', placeholder: 'Action: webhooks.create' },
          { name: 'actor', label: 'By', choices: actors },
          { name: 'table', label: 'Table' },
          { name: 'operation', label: 'Operation', choices: operations },
          { name: 'record_id', label: 'Record', placeholder: 'Record key' },
        ]}
        range={['from', 'to']}
      />
      <List
        caption="Audit log"
        of={list}
        selectedKey={shownId ?? undefined}
        isFiltered={isFiltered}
        empty="No entries yet. Each change by an administrator is recorded here, with its author and address."
        example={['[audit]\ntables = ["invoice"]', 'Changes of rows, too']}
        columns={[
          ['Time', (entry) => <Time value={entry.timestamp} />],
          [
            'Action',
            (entry) => (
              <Button variant="plain" size="small" onClick={() => show(entry.id)}>
                <code>{entry.action}</code>
              </Button>
            ),
          ],
          ['By', (entry) => entry.actor],
          ['On', (entry) => <Target entry={entry} />, 'cut'],
          ['Address', (entry) => entry.ip_address ?? '–', 'minor'],
          ['Request', (entry) => <RequestLink id={entry.request_id} />, 'minor'],
        ]}
      />
      <EntryPanel entry={list.rows?.find(({ id }) => id === shownId)} onClose={() => show(undefined)} />
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
