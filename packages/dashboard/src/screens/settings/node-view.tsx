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
      <Section title="This node" actions={<AsCode request={{ method: 'GET', path: '/api/admin/stats' }} />}>
        <Loaded query={node}>
          {(state) => (
            <KeyValue
              items={{
                Node: <code>{state.node}</code>,
                'Running for': formatDuration(state.uptime_seconds * 1000),
                'Process memory': `${formatBytes(state.memory_sys)}, of which JavaScript uses ${formatBytes(state.memory_alloc)}`,
                'Node.js': state.node_version,
                'Database connections': `${state.db_pool_in_use} in use, ${state.db_pool_idle} idle, maximum ${state.db_pool_max}`,
              }}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Database" actions={<AsCode request={{ method: 'GET', path: '/api/admin/server' }} />}>
        <Loaded query={server}>
          {({ version, database }) => (
            <KeyValue
              items={{
                Basalt: version,
                PostgreSQL: `${database.version}, ${database.isEmbedded ? 'embedded' : 'external'}`,
                Size: formatBytes(database.sizeBytes),
                'Connections of all clients': `${database.connections} of ${database.maxConnections} connections`,
              }}
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}
