import { usePages } from '../../api/queries.ts'
import { jobsLink } from '../../links.ts'
import type { Column } from '../../ui/data-table.tsx'
import { Badge } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
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
      <List
        caption="Sent mail"
        of={mails}
        columns={columns}
        isFiltered={filters.isFiltered}
        empty="Users and programs have sent no mail yet. Mail of the server itself is listed under Jobs."
        first={['Mail of the server', jobsLink(), 'operations.read']}
      />
    </>
  )
}

const columns: readonly Column<Mail>[] = [
  ['To', ({ to }) => to, 'cut'],
  ['Subject', ({ subject }) => subject, 'cut'],
  [
    'Status',
    ({ status, error_message }) => (
      <>
        <Badge tone={status === 'failed' ? 'danger' : status === 'sent' ? 'ok' : 'neutral'}>{status}</Badge>{' '}
        {error_message}
      </>
    ),
  ],
  ['Template', ({ template_key }) => template_key ?? '–', 'minor'],
  ['At', ({ created_at }) => <Time value={created_at} />, 'minor'],
]
