import { isBasaltError } from '@basaltdb/client'
import { moreOf, usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Notice, PageHeader } from '../../ui/layout.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { choicesOf, Filters } from '../activity/filters.tsx'
import { queryPath } from '../activity/query-path.ts'
import { useFilters } from '../activity/use-filters.ts'
import { listTickets, type Ticket, ticketStatuses } from './api.ts'
import { StatusBadge } from './status-badge.tsx'

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
        actions={
          <AsCode
            request={{ method: 'GET', path: queryPath('/api/admin/support/tickets', { ...rest, user_id }) }}
            sql="select id, subject, status, updated_at from basalt.support_tickets order by updated_at desc limit 50"
          />
        }
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
          <LoadedRows list={tickets}>
            {(rows) => (
              <DataTable<Ticket>
                caption="Tickets"
                rows={rows}
                rowKey={({ id }) => id}
                href={({ id }) => `/support/${id}`}
                empty={isFiltered ? 'No tickets match.' : 'No tickets yet.'}
                columns={[
                  { key: 'subject', title: 'Subject', cell: ({ subject }) => subject },
                  { key: 'status', title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
                  { key: 'user', title: 'User', cell: ({ email, user_id: user }) => email ?? user },
                  {
                    key: 'changed',
                    title: 'Last change',
                    isMinor: true,
                    cell: ({ updated_at }) => <Time value={updated_at} />,
                  },
                ]}
                {...moreOf(tickets)}
              />
            )}
          </LoadedRows>
        </>
      )}
    </>
  )
}
