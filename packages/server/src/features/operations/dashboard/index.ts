import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { DashboardFiles } from './files.ts'
import { type DashboardReads, dashboardReadOperations } from './reads.ts'
import { dashboardRoutes, graphiqlRoutes } from './routes.ts'

export { type DashboardFiles, openDashboardFiles } from './files.ts'
export { DashboardReads } from './reads.ts'

/** Makes the feature of the setting for reads by the dashboard. */
export function dashboardReads(reads: DashboardReads): Feature {
  return { name: 'dashboard_reads', routes: (app) => addOperations(app, { reads }, dashboardReadOperations) }
}

/** Makes the feature of the dashboard, a page that uses the public API: its files and its security policy. */
export function dashboard(path: string, files: DashboardFiles): Feature {
  return {
    name: 'dashboard',
    routes: (app) => dashboardRoutes(app, path, files),
    stop: () => files.stop(),
  }
}

/** Path of GraphiQL, the GraphQL tab of the API page. */
export const graphiqlPath = '/api/docs/graphql'

/** Makes the feature of GraphiQL's page, which is built with the dashboard. */
export function graphiql(files: DashboardFiles): Feature {
  return {
    name: 'graphiql',
    routes: (app) => graphiqlRoutes(app, graphiqlPath, files),
    stop: () => files.stop(),
  }
}
