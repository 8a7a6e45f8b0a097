import type { Platform } from '../../platform.ts'
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

/** Wires the features of the operator's own code. */
export function wireFunctions(store: SecretStore) {
  return { features: [secrets(store)] }
}
