import { useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { formatBytes, formatDuration } from '../../ui/format.ts'
import { KeyValue, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { readServer } from '../home/api.ts'
import { readNode } from './api.ts'

const refetchIntervalMs = 5_000

export function NodeView() {
  const node = useApi(['stats'], readNode, { refetchIntervalMs })
  const server = useApi(['server'], readServer, { refetchIntervalMs })
  return (
    <>
      <Section
        title="The node that answers"
        actions={<AsCode request={{ method: 'GET', path: '/api/admin/stats' }} />}
      >
        <Loaded query={node}>
          {(state) => (
            <KeyValue
              items={[
                ['Node', <code key="node">{state.node}</code>],
                ['Running for', formatDuration(state.uptime_seconds * 1000)],
                [
                  'Memory of the process',
                  `${formatBytes(state.memory_sys)}, of these ${formatBytes(state.memory_alloc)} in use by JavaScript`,
                ],
                ['Node.js', state.node_version],
                [
                  'Its database connections',
                  `${state.db_pool_in_use} in use, ${state.db_pool_idle} idle, at most ${state.db_pool_max}`,
                ],
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Database" actions={<AsCode request={{ method: 'GET', path: '/api/admin/server' }} />}>
        <Loaded query={server}>
          {({ version, database }) => (
            <KeyValue
              items={[
                ['Basalt', version],
                ['PostgreSQL', `${database.version}, ${database.isEmbedded ? 'embedded' : 'external'}`],
                ['Size', formatBytes(database.sizeBytes)],
                [
                  'Connections of all clients',
                  `${database.connections} of ${database.maxConnections} connections`,
                ],
              ]}
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}
