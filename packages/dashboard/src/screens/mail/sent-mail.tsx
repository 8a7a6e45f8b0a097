import { moreOf, usePages } from '../../api/queries.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Badge } from '../../ui/layout.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { withInstants } from '../../ui/time-range.tsx'
import { Filters } from '../activity/filters.tsx'
import { useFilters } from '../activity/use-filters.ts'
import { listSent, type SentMail as Mail } from './api.ts'

/** Lists the mail that users and programs have sent. */
export function SentMail() {
  const filters = useFilters(['from', 'to'])
  const { settled } = filters
  const mails = usePages(['mail', 'sent', settled], (cursor, signal) =>
    listSent(withInstants(settled), cursor, signal),
  )
  return (
    <>
      <Filters label="Sent mail" filters={filters} fields={[]} range={['from', 'to']} />
      <LoadedRows list={mails}>
        {(rows) => (
          <DataTable
            caption="Sent mail"
            rows={rows}
            rowKey={({ id }) => id}
            columns={columns}
            empty={
              filters.isFiltered
                ? 'No mail matches.'
                : 'Users and programs have sent no mail. Mail of the server is listed under Jobs.'
            }
            {...moreOf(mails)}
          />
        )}
      </LoadedRows>
    </>
  )
}

const columns: readonly Column<Mail>[] = [
  { key: 'to', title: 'To', cell: ({ to }) => to, isCut: true },
  { key: 'subject', title: 'Subject', cell: ({ subject }) => subject, isCut: true },
  {
    key: 'status',
    title: 'Status',
    cell: ({ status, error_message }) => (
      <>
        <Badge tone={status === 'failed' ? 'danger' : status === 'sent' ? 'ok' : 'neutral'}>{status}</Badge>{' '}
        {error_message}
      </>
    ),
  },
  { key: 'template', title: 'Template', cell: ({ template_key }) => template_key ?? '–', isMinor: true },
  { key: 'at', title: 'At', cell: ({ created_at }) => <Time value={created_at} />, isMinor: true },
]
