import { isBasaltError } from '@basaltdb/client'
import { usePages } from '../../api/queries.ts'
import { Notice, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { choicesOf, Filters } from '../activity/filters.tsx'
import { UserLink } from '../activity/links.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { listTickets, type Ticket, ticketStatuses } from './api.ts'
import { StatusBadge } from './status-badge.tsx'

const opening = `await fetch('/api/support/tickets', { method: 'POST', headers, body: JSON.stringify({
  subject: 'My order', body: 'Where is it?',
}) })`

/** Refetch interval in milliseconds, because users write while the list is open. */
const refetchIntervalMs = 10_000

export function TicketList() {
  const filters = useFilters(['search', 'status', 'user'])
  const { settled, isFiltered } = filters
  const tickets = usePages(
    ['support', 'list', settled],
    (cursor, signal) => listTickets(settled, cursor, signal),
    { refetchIntervalMs },
  )
  const isOff = isBasaltError(tickets.error, 'support_not_enabled')
  const { user: user_id, ...rest } = settled
  return (
    <>
      <PageHeader
        title="Support"
        asCode={{
          request: { method: 'GET', path: queryPath('/api/admin/support/tickets', { ...rest, user_id }) },
          sql: 'select id, subject, status, updated_at from basalt.support_tickets order by updated_at desc limit 50',
        }}
      >
        Support requests of users, from the API and by mail.
      </PageHeader>
      {isOff ? (
        <Notice>
          Support is off. Set <code>support.enabled = true</code> in the configuration to let users open
          tickets.
        </Notice>
      ) : (
        <>
          <Filters
            label="Tickets"
            filters={filters}
            fields={[
              { name: 'search', label: 'Search subjects and email addresses' },
              { name: 'status', label: 'Status', choices: choicesOf('All statuses', ticketStatuses) },
              { name: 'user', label: 'User id' },
            ]}
          />
          <List<Ticket>
            caption="Tickets"
            of={tickets}
            href={({ id }) => `/support/${id}`}
            isFiltered={isFiltered}
            empty="No tickets yet. Users open one in your app or by mail, and read your reply there."
            example={[opening, 'Ticket in your app']}
            columns={[
              ['Subject', ({ subject }) => subject],
              ['Status', ({ status }) => <StatusBadge status={status} />],
              ['User', ({ user_id: user }) => <UserLink id={user} />],
              ['Last change', ({ updated_at }) => <Time value={updated_at} />, 'minor'],
            ]}
          />
        </>
      )}
    </>
  )
}
