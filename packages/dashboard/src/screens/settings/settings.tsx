import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { KeyValue, PageHeader, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { readNode } from './api.ts'

export function SettingsScreen() {
  const node = useApi(['stats'], readNode, { refetchIntervalMs: 10_000 })
  return (
    <>
      <PageHeader
        title="Settings"
        actions={<AsCode request={{ method: 'GET', path: '/api/admin/stats' }} />}
      />
      <Section title="This node">
        <Loaded query={node}>
          {(state) => (
            <KeyValue
              items={[
                ['Node', <code key="node">{state.node}</code>],
                ['Running for', formatDuration(state.uptime_seconds * 1000)],
                ['Memory of the process', formatBytes(state.memory_sys)],
                ['Node.js', state.node_version],
                [
                  'Database connections',
                  `${state.db_pool_in_use} in use, ${state.db_pool_idle} idle, at most ${state.db_pool_max}`,
                ],
              ]}
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}
