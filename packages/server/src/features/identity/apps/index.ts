import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { AppLimiter } from './limiter.ts'
import { type AppDeps, appOperations } from './operations.ts'

export { listApps } from './app.ts'
export { appErrorTable } from './errors.ts'
export { AppLimiter } from './limiter.ts'
export { createApp, deleteApp } from './operations.ts'

/** Makes the feature of apps. Programs belong to apps, which limit and count their requests. */
export function apps({ limiter, ...deps }: AppDeps & { readonly limiter: AppLimiter }): Feature {
  return {
    name: 'apps',
    routes: (app) => addOperations(app, deps, appOperations),
    stop: () => limiter.stop(),
  }
}
