import { useLocation, useRoute } from 'wouter'
import { PageHeader } from '../../ui/layout.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { BackupView } from './backup-view.tsx'
import { ConfigurationView } from './configuration-view.tsx'
import { NodeView } from './node-view.tsx'

export function SettingsScreen() {
  const [, params] = useRoute('/settings/:tab')
  const [, navigate] = useLocation()
  return (
    <>
      <PageHeader title="Settings" />
      <Tabs
        label="Settings"
        value={params?.tab ?? 'configuration'}
        onChange={(tab) => navigate(`/settings/${tab}`)}
        tabs={[
          { value: 'configuration', label: 'Configuration', content: <ConfigurationView /> },
          { value: 'server', label: 'Server', content: <NodeView /> },
          { value: 'backup', label: 'Backup and access', content: <BackupView /> },
        ]}
      />
    </>
  )
}
