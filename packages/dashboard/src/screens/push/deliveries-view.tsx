import { useSearchParams } from 'wouter'
import { usePages } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { Code } from '../../ui/code.tsx'
import { Badge, KeyValue, Section, type Tone } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Time } from '../../ui/time.tsx'
import { Filters } from '../activity/filters.tsx'
import { UserLink } from '../activity/links.tsx'
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

const message = `await fetch('/api/admin/push/send', { method: 'POST', headers, body: JSON.stringify({
  user_id, title: 'Your order', body: 'It is on its way.',
}) })`

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
      <List
        caption="Deliveries"
        of={deliveries}
        href={({ id }) => `/push/deliveries?${open(id)}`}
        selectedKey={opened ?? undefined}
        isFiltered={filters.isFiltered}
        empty="No deliveries yet. Each message to a device is listed here, with the response of its provider."
        first={['Devices', '/push/devices', 'content.read']}
        example={[message, 'Message of a program']}
        columns={[
          ['Message', ({ title, body }) => title || body || 'No text'],
          ['State', (row) => <Badge tone={tones[row.status]}>{row.status.replaceAll('_', ' ')}</Badge>],
          ['Reason', ({ error_code }) => error_code],
          ['Provider', ({ provider }) => provider, 'minor'],
          ['Created', ({ created_at }) => <Time value={created_at} />, 'minor'],
        ]}
      />
      {shown !== undefined && <DeliveryPanel delivery={shown} onClose={() => setSearch(open(undefined))} />}
    </>
  )
}

function DeliveryPanel({ delivery, onClose }: { readonly delivery: Delivery; readonly onClose: () => void }) {
  return (
    <SidePanel title={delivery.title || 'Delivery'} onClose={onClose}>
      <KeyValue
        items={{
          State: <Badge tone={tones[delivery.status]}>{delivery.status.replaceAll('_', ' ')}</Badge>,
          Attempts: delivery.attempts,
          Reason: [delivery.error_code, delivery.error_message].filter(Boolean).join(': ') || '–',
          Text: delivery.body,
          Provider: delivery.provider,
          'Provider message id': delivery.provider_message_id ?? '–',
          Device: delivery.device_token_id,
          User: <UserLink id={delivery.user_id} />,
          Send: delivery.send_id,
          Created: <Time value={delivery.created_at} />,
          Sent: <Time value={delivery.sent_at} />,
        }}
      />
      <Section title="Data">
        <Code label="Data">{JSON.stringify(delivery.data, null, 2)}</Code>
      </Section>
    </SidePanel>
  )
}
