import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { ApiKeyDeps } from './change.ts'
import { apiKeyOperations } from './operations.ts'
import type { ApiKeyVerifier } from './verifier.ts'

export { listApiKeys, revokeApiKeysOf } from './api-key.ts'
export { createApiKey } from './create.ts'
export { apiKeyErrorTable } from './errors.ts'
export { examineApiKey } from './opened-key.ts'
export { revokeApiKey, rotateApiKey } from './operations.ts'
export { ApiKeyVerifier } from './verifier.ts'

/** Makes the feature of API keys, by which programs authenticate. */
export function apiKeys({ verifier, ...deps }: ApiKeyDeps & { readonly verifier: ApiKeyVerifier }): Feature {
  return {
    name: 'api-keys',
    start: () => verifier.start(),
    stop: () => verifier.stop(),
    routes: (app) => addOperations(app, deps, apiKeyOperations),
  }
}
