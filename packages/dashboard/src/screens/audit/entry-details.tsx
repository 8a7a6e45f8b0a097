import { Code } from '../../ui/code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Badge, KeyValue } from '../../ui/layout.tsx'
import { Time } from '../../ui/time.tsx'
import { RequestLink, RowLink, UserLink } from '../activity/links.tsx'
import type { AuditEntry } from './api.ts'
import { compareValues } from './diff.ts'

/** Shows an entry of the audit log: actor, action, and the row before and after. */
export function AuditDetails({ entry }: { readonly entry: AuditEntry }) {
  const values = compareValues(entry)
  return (
    <>
      <KeyValue
        pairs={[
          ['Time', <Time key="time" value={entry.timestamp} />],
          ['Action', <code key="action">{entry.action}</code>],
          ['By', entry.actor],
          ...(entry.user_id === null ? [] : [['User', <UserLink key="user" id={entry.user_id} />] as const]),
          ...(entry.target === null ? [] : [['Target', <code key="target">{entry.target}</code>] as const]),
          ...(entry.table_name === null
            ? []
            : [['Row', <RowLink key="row" table={entry.table_name} id={entry.record_id} />] as const]),
          ['Address', entry.ip_address ?? '–'],
          ['Request', <RequestLink key="request" id={entry.request_id} />],
        ]}
      />
      {values.length > 0 && (
        <>
          <h3>Values</h3>
          <DataTable
            caption="Values before and after"
            rows={values}
            rowKey={({ column }) => column}
            columns={[
              ['Column', ({ column }) => <code>{column}</code>],
              ['Before', ({ before }) => before ?? '–'],
              ['After', ({ after }) => after ?? '–'],
              [
                'Changed',
                ({ before, after, isChanged }) =>
                  isChanged &&
                  before !== undefined &&
                  after !== undefined && <Badge tone="accent">changed</Badge>,
                'untitled',
              ],
            ]}
          />
        </>
      )}
      {Object.keys(entry.detail).length > 0 && (
        <>
          <h3>Detail</h3>
          <Code label="detail">{JSON.stringify(entry.detail, null, 2)}</Code>
        </>
      )}
    </>
  )
}
