import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { AppLimiter } from './limiter.ts'
import { appRoutes } from './routes.ts'
import { AppService } from './service.ts'

export { appErrorTable } from './errors.ts'
export { AppLimiter } from './limiter.ts'
export { type Actor, AppService } from './service.ts'

export interface AppsDeps {
  readonly database: SystemDatabase
  readonly limiter: AppLimiter
  /** After a change of an app: keys in memory carry its limit. */
  readonly onChange: () => void
}

/** Apps: what programs belong to, and are limited and counted by. */
export function apps({ database, limiter, onChange }: AppsDeps): Feature {
  return {
    name: 'apps',
    routes: (app) => appRoutes(app, new AppService(database, onChange)),
    stop: () => limiter.stop(),
  }
}
