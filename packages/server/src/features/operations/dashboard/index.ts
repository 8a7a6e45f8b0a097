import type { Feature } from '../../../feature.ts'
import type { DashboardFiles } from './files.ts'
import { dashboardRoutes } from './routes.ts'

export { type DashboardFiles, openDashboardFiles } from './files.ts'

/** Makes the feature of the dashboard, a page that uses the public API: its files and its security policy. */
export function dashboard(path: string, files: DashboardFiles): Feature {
  return {
    name: 'dashboard',
    routes: (app) => dashboardRoutes(app, path, files),
    stop: () => files.stop(),
  }
}
