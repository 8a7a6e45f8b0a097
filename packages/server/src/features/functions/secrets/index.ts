import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { secretOperations } from './operations.ts'
import type { SecretStore } from './secret-store.ts'

export { secretErrorTable } from './errors.ts'
export { countSecretsByKey } from './secret.ts'
export { type FunctionSecrets, SecretStore } from './secret-store.ts'

/** Creates the feature of the secrets of the operator's own code. */
export function secrets(store: SecretStore): Feature {
  return { name: 'secrets', routes: (app) => addOperations(app, store, secretOperations) }
}
