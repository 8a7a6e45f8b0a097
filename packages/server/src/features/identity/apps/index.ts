import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { LeasedCallerLimiter } from './caller-limiter.ts'
import type { AppLimiter } from './limiter.ts'
import { type AppDeps, appOperations } from './operations.ts'

export { listApps } from './app.ts'
export { createCallerLimiter, type LeasedCallerLimiter } from './caller-limiter.ts'
export { appErrorTable } from './errors.ts'
export { AppLimiter } from './limiter.ts'
export { createApp, deleteApp } from './operations.ts'

interface Limiters {
  readonly limiter: AppLimiter
  /** Limiter of users and addresses; undefined without limits. */
  readonly callerLimiter: LeasedCallerLimiter | undefined
}

/** Makes the feature of apps. Programs belong to apps, which limit and count their requests. */
export function apps({ limiter, callerLimiter, ...deps }: AppDeps & Limiters): Feature {
  return {
    name: 'apps',
    routes: (app) => addOperations(app, deps, appOperations),
    async stop() {
      await Promise.all([limiter.stop(), callerLimiter?.stop()])
    },
  }
}
