import { useLocation, useRoute } from 'wouter'
import { PageHeader } from '../../ui/layout.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { DeliveriesView } from './deliveries-view.tsx'
import { DevicesView } from './devices-view.tsx'
import { ProvidersView } from './providers-view.tsx'

export function PushScreen() {
  const [, params] = useRoute('/push/:tab')
  const [, navigate] = useLocation()
  const tab = params?.tab ?? 'devices'
  return (
    <>
      <PageHeader
        title="Push"
        asCode={{ request: { method: 'GET', path: `/api/admin/push/${encodeURIComponent(tab)}` } }}
      >
        Push messages to Android, Apple devices and browsers.
      </PageHeader>
      <Tabs
        label="Push"
        value={tab}
        onChange={(next) => navigate(`/push/${next}`)}
        tabs={[
          { value: 'devices', label: 'Devices', content: <DevicesView />, needs: 'users.read' },
          { value: 'deliveries', label: 'Deliveries', content: <DeliveriesView />, needs: 'bodies.read' },
          { value: 'providers', label: 'Providers', content: <ProvidersView /> },
        ]}
      />
    </>
  )
}
