import type { Platform } from '../../platform.ts'
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
  { config, database, log }: Pick<Platform, 'config' | 'database' | 'log'>,
  { openData, secrets: store }: FunctionPorts,
) {
  const { host, feature } = runtime({
    config: config.functions,
    database: database.user,
    openData,
    connectionLimit: () => database.connections.limit,
    log,
    secrets: store,
  })
  return { host, features: [feature, secrets(store)] }
}
