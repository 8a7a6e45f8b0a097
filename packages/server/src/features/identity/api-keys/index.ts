import type { Feature } from '../../../feature.ts'
import { apiKeyAdminRoutes, type CallerLocks, ownApiKeyRoutes } from './routes.ts'
import type { ApiKeyService } from './service.ts'
import type { ApiKeyVerifier } from './verifier.ts'

export { apiKeyErrorTable } from './errors.ts'
export { examineApiKey, revokeApiKeysOf } from './queries.ts'
export { ApiKeyService } from './service.ts'
export { ApiKeyVerifier } from './verifier.ts'

export interface ApiKeysDeps extends CallerLocks {
  readonly service: ApiKeyService
  readonly verifier: ApiKeyVerifier
}

/** API keys: how programs present themselves. */
export function apiKeys({ service, verifier, ...locks }: ApiKeysDeps): Feature {
  return {
    name: 'api-keys',
    start: () => verifier.start(),
    stop: () => verifier.stop(),
    routes(app) {
      apiKeyAdminRoutes(app, service)
      ownApiKeyRoutes(app, service, locks)
    },
  }
}
