import { listEffectiveSettings } from '../../config/effective.ts'
import { describeConfiguration, settings } from '../../configuration.ts'
import type { BreachedPasswords } from '../../http/breached-passwords.ts'
import type { Platform } from '../../platform.ts'
import {
  type AdminContext,
  type AdminDeps,
  admin,
  createAdminTokenVerifier,
  ensurePassword,
  removeFirstSignIn,
  requireWayIn,
  signInMethodsOf,
} from './admin/index.ts'
import { audit } from './audit/index.ts'
import { billing } from './billing/index.ts'
import {
  type DashboardFiles,
  DashboardReads,
  dashboard,
  dashboardReads,
  graphiql,
  graphiqlPath,
  openDashboardFiles,
} from './dashboard/index.ts'
import { documentation, openOwnSite, type SiteFiles } from './documentation/index.ts'
import { health } from './health/index.ts'
import { indexBuilds } from './index-builds/index.ts'
import { metrics } from './metrics/index.ts'
import { overview } from './overview/index.ts'
import { type DocumentedRoute, type ReferencedError, reference } from './reference/index.ts'
import { createThrottle, defineThrottleHousekeeping } from './throttle/index.ts'

export interface OperationsPorts {
  readonly breachedPasswords: BreachedPasswords
  readonly passwords: AdminDeps['passwords']
  /** Errors that the reference lists. */
  readonly errors: readonly ReferencedError[]
  /** Returns the routes of functions that are served. */
  readonly routes: () => readonly DocumentedRoute[]
  /** Files of the dashboard. Without them, the built ones are used. */
  readonly dashboardFiles: DashboardFiles | undefined
  /** Returns the URL at which people reach the dashboard; undefined unless it is served. */
  readonly dashboardUrl: () => string | undefined
  /** Files of the documentation site. Without them, those of the package are used, if they are built. */
  readonly docsSite: SiteFiles | undefined
  /**
   * True for a rehearsal. It has a database of its own in the data directory of another server, whose first
   * sign-in it must not touch.
   */
  readonly isRehearsal: boolean
}

/** Wires the features for operators: health, metrics, the administrator, the audit log, the reference. */
export function wireOperations(platform: Platform, ports: OperationsPorts) {
  const {
    config,
    catalog,
    log,
    metrics: measurements,
    publicBaseUrl,
    queue,
    version,
    isStopping,
    machine,
  } = platform
  const database = platform.database.system
  const attempts = createThrottle(database)
  defineThrottleHousekeeping(database, queue)
  const methods = signInMethodsOf(config.admin)
  const administrator: AdminDeps = {
    database,
    methods,
    passwords: ports.passwords,
    throttle: attempts,
    forgetFirstSignIn: () => {
      if (!ports.isRehearsal) removeFirstSignIn(config.server.data_dir, (message) => log.warn(message))
    },
  }
  const reads = new DashboardReads(database, config.logging.dashboard_reads, platform.notifications)
  const adminTokens = createAdminTokenVerifier(database, {
    requiresSecondFactor: config.admin.require_second_factor,
    issuer: methods.provider?.issuer,
  })
  const administration: AdminContext = {
    ...administrator,
    breachedPasswords: ports.breachedPasswords,
    tokens: adminTokens,
    origins: platform.origins,
    dashboardUrl: ports.dashboardUrl,
    publicBaseUrl,
    secrets: platform.secrets,
    appName: config.email.app_name,
    log,
    queue,
  }
  const hasPages = config.admin.enabled || config.graphql.enabled
  const dashboardFiles = hasPages ? (ports.dashboardFiles ?? openDashboardFiles()) : undefined
  const site = config.docs.site ? (ports.docsSite ?? openOwnSite(version)) : undefined
  return {
    features: [
      ...(dashboardFiles === undefined || !config.admin.enabled
        ? []
        : [dashboard(config.admin.path, dashboardFiles)]),
      ...(dashboardFiles === undefined || !config.graphql.enabled ? [] : [graphiql(dashboardFiles)]),
      dashboardReads(reads),
      health({ open: platform.database.aside.open, isStopping, machine }),
      admin(administration),
      overview({
        catalog,
        database,
        version,
        settings: listEffectiveSettings(settings, config),
        isAuthRequired: config.auth.enabled,
        isEmbedded: config.database.url === '',
        // On a separate listener the dashboard has another origin.
        dashboardPath: config.admin.enabled && config.admin.listen === '' ? config.admin.path : undefined,
      }),
      documentation(site),
      reference({
        hasSite: site !== undefined,
        catalog,
        errors: ports.errors,
        publicBaseUrl,
        describeConfiguration,
        routes: ports.routes,
        graphqlPage: config.graphql.enabled ? graphiqlPath : undefined,
      }),
      ...(config.metrics.enabled
        ? [metrics({ collected: measurements, token: config.metrics.token, machine })]
        : []),
      billing({ ...platform, config: config.billing, database }),
      audit({ config: config.audit, database, catalog, queue, log }),
      ...(ports.isRehearsal ? [] : [indexBuilds({ database: platform.database, log })]),
    ],
    throttle: attempts,
    adminTokens,
    administration,
    dashboard: dashboardFiles,
    /** Returns true if reads by the dashboard are logged and counted. */
    logsDashboardReads: () => reads.isLogged,
    /**
     * Creates the administrator's password at the first start, and returns the credentials to print.
     *
     * @throws OperatorError if no owner could sign in
     */
    async ensureAdministrator() {
      // The database of a rehearsal has no owners.
      if (!ports.isRehearsal) await requireWayIn(database, methods)
      return await ensurePassword(administrator, config.admin.password)
    },
  }
}
