import type { Platform } from '../../platform.ts'
import { deploys } from './deploys/index.ts'
import { type OpenData, runtime } from './runtime/index.ts'
import { SecretStore, secrets } from './secrets/index.ts'

/** Opens the secrets of the operator, which schedules and functions use. */
export function openSecrets({
  database,
  notifications,
  secrets: box,
  log,
}: Pick<Platform, 'database' | 'notifications' | 'secrets' | 'log'>): SecretStore {
  return new SecretStore({ database: database.system, notifications, box, log })
}

export interface FunctionPorts {
  readonly openData: OpenData
  readonly secrets: SecretStore
}

/** Wires the features of the operator's own code. */
export function wireFunctions(
  {
    config,
    database,
    notifications,
    queue,
    log,
  }: Pick<Platform, 'config' | 'database' | 'notifications' | 'queue' | 'log'>,
  { openData, secrets: store }: FunctionPorts,
) {
  const deployed = deploys({
    database: database.system,
    notifications,
    queue,
    dataDirectory: config.server.data_dir,
    log,
  })
  const { host, feature } = runtime({
    config: config.functions,
    database: database.user,
    openData,
    live: deployed.live,
    connectionLimit: () => database.connections.limit,
    log,
    secrets: store,
  })
  return { host, features: [feature, secrets(store), deployed.feature] }
}
