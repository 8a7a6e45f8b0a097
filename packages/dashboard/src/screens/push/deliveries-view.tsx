import { useSearchParams } from 'wouter'
import { moreOf, usePages } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { Code } from '../../ui/code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Badge, KeyValue, Section, type Tone } from '../../ui/layout.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { Filters } from '../activity/filters.tsx'
import { useFilters } from '../activity/use-filters.ts'
import { type Delivery, listDeliveries } from './api.ts'

const tones: Readonly<Record<Delivery['status'], Tone>> = {
  pending: 'accent',
  sent: 'ok',
  failed: 'danger',
  invalid_token: 'warning',
}

const statuses = {
  '': 'All states',
  pending: 'Pending',
  sent: 'Sent',
  failed: 'Failed',
  invalid_token: 'Invalid token',
}

/** Refetch interval in milliseconds, because unfinished deliveries change. */
const refetchIntervalMs = 5_000

export function DeliveriesView() {
  const [search, setSearch] = useSearchParams()
  const filters = useFilters(['user', 'status'])
  const { settled } = filters
  const opened = search.get('delivery')
  const deliveries = usePages(
    ['push', 'deliveries', settled],
    (cursor, signal) => listDeliveries(settled, cursor, signal),
    { refetchIntervalMs },
  )
  const open = (delivery: string | undefined) => withParameters(search, { delivery })
  const shown = deliveries.rows?.find(({ id }) => id === opened)
  return (
    <>
      <Filters
        label="Deliveries"
        filters={filters}
        fields={[
          { name: 'user', label: 'User id' },
          { name: 'status', label: 'State', choices: statuses },
        ]}
      />
      <LoadedRows list={deliveries}>
        {(rows) => (
          <DataTable
            caption="Deliveries"
            rows={rows}
            rowKey={({ id }) => id}
            href={({ id }) => `/push/deliveries?${open(id)}`}
            selectedKey={opened ?? undefined}
            empty="No deliveries."
            columns={[
              { key: 'title', title: 'Message', cell: ({ title, body }) => title || body || 'No text' },
              {
                key: 'status',
                title: 'State',
                cell: (row) => <Badge tone={tones[row.status]}>{row.status.replaceAll('_', ' ')}</Badge>,
              },
              { key: 'error', title: 'Reason', cell: ({ error_code }) => error_code },
              { key: 'provider', title: 'Provider', isMinor: true, cell: ({ provider }) => provider },
              {
                key: 'created',
                title: 'Created',
                isMinor: true,
                cell: ({ created_at }) => <Time value={created_at} />,
              },
            ]}
            {...moreOf(deliveries)}
          />
        )}
      </LoadedRows>
      {shown !== undefined && <DeliveryPanel delivery={shown} onClose={() => setSearch(open(undefined))} />}
    </>
  )
}

function DeliveryPanel({ delivery, onClose }: { readonly delivery: Delivery; readonly onClose: () => void }) {
  return (
    <SidePanel title={delivery.title || 'Delivery'} onClose={onClose}>
      <KeyValue
        items={[
          [
            'State',
            <Badge key="state" tone={tones[delivery.status]}>
              {delivery.status.replaceAll('_', ' ')}
            </Badge>,
          ],
          ['Attempts', delivery.attempts],
          ['Reason', [delivery.error_code, delivery.error_message].filter(Boolean).join(': ') || '–'],
          ['Text', delivery.body],
          ['Provider', delivery.provider],
          ['Provider message id', delivery.provider_message_id ?? '–'],
          ['Device', delivery.device_token_id],
          ['User', delivery.user_id],
          ['Send', delivery.send_id],
          ['Created', <Time key="created" value={delivery.created_at} />],
          ['Sent', <Time key="sent" value={delivery.sent_at} />],
        ]}
      />
      <Section title="Data">
        <Code label="Data">{JSON.stringify(delivery.data, null, 2)}</Code>
      </Section>
    </SidePanel>
  )
}
