import type { Logger } from 'pino'
import { isDevelopment, isReachedAtLoopback, requiresRls } from './config/development.ts'
import type { Config } from './configuration.ts'
import type { ContextDialect } from './database/caller/caller-context.ts'
import { reportClosedRelations, reportRenamedRelations } from './database/catalog/first-start.ts'
import { LiveCatalog } from './database/catalog/live-catalog.ts'
import { catalogScopeOf } from './database/catalog/load.ts'
import type { Catalog } from './database/catalog/model.ts'
import type { ChangeLog } from './database/change-log.ts'
import { isReachable } from './database/connection/half-open.ts'
import { DatabaseClock, openDatabaseClock } from './database/database-clock.ts'
import type { ClusterSettings } from './database/embedded/cluster-settings.ts'
import { translateDatabaseFailure } from './database/errors/error-translation.ts'
import { Notifications } from './database/notifications/notifications.ts'
import { type Database, openDatabase } from './database/open.ts'
import { ping } from './database/ping.ts'
import type { Rehearsal } from './database/user-database.ts'
import { listErrors } from './error-catalog.ts'
import { noHooks, type WriteHooks } from './features/data/collections/index.ts'
import { createEmbedders } from './features/data/embedding-provider/index.ts'
import { wireData } from './features/data/index.ts'
import { createSchemaLog } from './features/data/schema/index.ts'
import { openJobQueue, wireEvents } from './features/events/index.ts'
import { countWebhookSecretsByKey } from './features/events/webhooks/index.ts'
import { measureFiles, type ResolveTxt, wireFiles } from './features/files/index.ts'
import { type FunctionPorts, openSecrets, wireFunctions } from './features/functions/index.ts'
import type { FunctionHost } from './features/functions/runtime/index.ts'
import { countSecretsByKey, type SecretStore } from './features/functions/secrets/index.ts'
import { type AccountFunctions, lockSelf, noAccountFunctions } from './features/identity/accounts/index.ts'
import { openAuthSettings, wireIdentity } from './features/identity/index.ts'
import { countTotpSecretsByKey } from './features/identity/mfa/index.ts'
import { createPasswordHasher, type PasswordHasher } from './features/identity/passwords/index.ts'
import { countClientSecretsByKey } from './features/identity/social-login/index.ts'
import { wireMessaging } from './features/messaging/index.ts'
import { noMailFunction } from './features/messaging/mail/index.ts'
import { countPushCredentialsByKey } from './features/messaging/push/index.ts'
import { countFactorSecretsByKey, type FirstSignIn } from './features/operations/admin/index.ts'
import type { DashboardFiles } from './features/operations/dashboard/index.ts'
import type { SiteFiles } from './features/operations/documentation/index.ts'
import { wireOperations } from './features/operations/index.ts'
import { openObservation } from './features/operations/observation.ts'
import { createOrigins } from './http/access/origins.ts'
import { confineAdministration } from './http/administration.ts'
import { createBreachedPasswords, noBreachedPasswords } from './http/breached-passwords.ts'
import { listen, PublicUrl } from './http/listen.ts'
import { Metrics } from './http/observation/metrics.ts'
import { watchReplicas } from './http/observation/replica-metrics.ts'
import { createOutbound, type Resolve } from './http/outbound.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import { closeServer, drainConnections, handOverConnections, trackConnections } from './http/shutdown.ts'
import { untilAborted } from './lib/abort.ts'
import type { Clock } from './lib/clock.ts'
import { messageOf, OperatorError } from './lib/errors.ts'
import { createSecretBox, type SecretBox } from './lib/secret-box.ts'
import type { Machine } from './machine.ts'
import { readVersion } from './package.ts'
import type { Platform } from './platform.ts'
import { migrateAtStart } from './project/at-start.ts'
import { requireSafe } from './project/structure/changes/safe-expression.ts'
import { structure } from './project/structure/index.ts'
import { requireKeysOf, resolveEncryptionKeys, resolveJwtSecret } from './secrets.ts'

export interface AppOptions {
  readonly config: Config
  readonly log: Logger
  /** Clock that replaces that of the database. */
  readonly clock?: Clock
  /** Change log that replaces the log of events; for tests. */
  readonly changes?: ChangeLog
  /** Resolver for host names that users name; for tests. */
  readonly resolve?: Resolve
  /** Resolver of TXT records for names that administrators name; for tests. */
  readonly resolveTxt?: ResolveTxt
  /** Returns the URL that replaces that of a sign-in provider or a client; for tests. */
  readonly reachProvider?: (url: string) => string
  /**
   * Address of the server that replaces built-in sign-in providers without a client. Only `basalt dev` sets it, and
   * only a server that no other machine reaches accepts it.
   */
  readonly providerStandIn?: string
  /** Hasher with another cost; for tests. */
  readonly passwords?: PasswordHasher
  /** Other files of the dashboard; for tests. */
  readonly dashboardFiles?: DashboardFiles
  /** Other files of the documentation site; for tests. */
  readonly docsSite?: SiteFiles
  /** Settings of the embedded cluster; for tests. */
  readonly embeddedSettings?: ClusterSettings
  /** Command that runs the server, for `pg_stat_activity`; `basalt start` by default. */
  readonly command?: 'basalt start' | 'basalt dev'
  /** Rehearsal of a second server that changes no data; for tests of policies. */
  readonly rehearsal?: Rehearsal
  /** Options of a second server that tests the functions of the project. */
  readonly functionTest?: Pick<FunctionPorts, 'stubOf'>
  /** Dialect of the callers' context, other than the one that the probe chooses; for tests. */
  readonly contextDialect?: ContextDialect
  /** Machine on which this server is one of several workers. The parent owns the embedded database. */
  readonly machine?: Machine | undefined
  /** Signal that stops the start. It then rejects with the signal's reason, at any point. */
  readonly signal?: AbortSignal
}

/** Complete server, wired and ready to listen. */
export interface App {
  readonly http: HttpServer
  /** Given log, which is also stored. */
  readonly log: Logger
  /** Log that is only stored, for events with an output of their own. */
  readonly storedLog: Logger
  readonly metrics: Metrics
  readonly database: Database
  readonly catalog: LiveCatalog
  /** Sign-in to show once, when this start has generated the administrator's password. */
  readonly firstSignIn: FirstSignIn | undefined
  /** Functions of the project. */
  readonly functions: FunctionHost
  /** Secrets of the functions. */
  readonly secrets: Pick<SecretStore, 'set'>
  /** Returns the URL at which clients reach the server; final once it listens. */
  publicBaseUrl(): string
  /** Files of the dashboard and of GraphiQL, for building them; undefined if neither is served. */
  readonly dashboard: DashboardFiles | undefined
  /**
   * Returns the URL at which people reach the dashboard; undefined unless it is served. Final once the server
   * listens.
   */
  dashboardUrl(): string | undefined
  /** Starts to listen. @throws OperatorError when the address is in use */
  listen(): Promise<void>
  /** Moves load balancers and clients to other nodes, and gives them time for it. Requests are still served. */
  drain(): Promise<void>
  /** Moves clients to processes that accept connections from the same sockets. This one accepts none any more. */
  handOver(): Promise<void>
  /** Aborts requests in flight, so that {@link App.close} need not wait for them. */
  cutOff(): void
  /** Completes requests in flight, then closes everything. */
  close(): Promise<void>
}

/**
 * Wires configuration, database, HTTP and features, in this order. It is the composition root and does nothing
 * else.
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, log, signal } = options
  const database = await openDatabase(config, {
    purpose: options.command ?? 'basalt start',
    log: (message, detail = {}) => log.warn(detail, message),
    asServer:
      options.rehearsal === undefined && options.functionTest === undefined && isFirst(options.machine),
    joinsEmbedded: options.machine !== undefined,
    rehearsal: options.rehearsal,
    contextDialect: options.contextDialect,
    processes: options.machine?.total,
    ...(options.embeddedSettings === undefined ? {} : { embeddedSettings: options.embeddedSettings }),
    signal,
  })
  try {
    const clock = options.clock ?? (await untilAborted(signal, openDatabaseClock(database.system)))
    await untilAborted(signal, migrateAtStart(config, database, log))
    const opening = LiveCatalog.open({
      database: database.system,
      ...catalogScopeOf(config),
      clock,
      onChange: createSchemaLog({
        log,
        isForPeople: config.logging.format === 'pretty',
        isAuthEnabled: config.auth.enabled,
      }),
    })
    const catalog = await untilAborted(signal, opening)
    const { sessions } = database
    sessions.trust(catalog.sessionCode)
    catalog.onChange(() => sessions.trust(catalog.sessionCode))
    await untilAborted(signal, startReplicas(options, database))
    if (options.rehearsal === undefined) await reportAtFirstStart(options, database, catalog.current)
    return await untilAborted(signal, wire(options, clock, database, catalog))
  } catch (error) {
    await database.close(signal?.aborted)
    // The database became unavailable or full during the start.
    const failure = translateDatabaseFailure(error)
    throw failure?.status === 503 ? new OperatorError(`${failure.message}: ${messageOf(error)}`) : error
  }
}

/** Returns true for the process that reports what is the same for all workers of a machine. */
function isFirst(machine: Machine | undefined): boolean {
  return machine === undefined || machine.worker === 1
}

/** Starts to use the read replicas, and reports each that begins or ceases to serve reads. */
async function startReplicas({ log, machine }: AppOptions, { replicas }: Database): Promise<void> {
  if (isFirst(machine)) {
    replicas?.onChange(({ address, refusal }) => {
      if (refusal === undefined) log.info({ replica: address }, 'read replica in use')
      else log.warn({ replica: address, reason: refusal }, 'read replica not in use')
    })
  }
  await replicas?.start()
}

/** Reports once the effects of this version on a database that an earlier version has served. */
async function reportAtFirstStart({ config, log }: AppOptions, { system }: Database, catalog: Catalog) {
  const warn = (detail: object, message: string) => log.warn(detail, message)
  await reportRenamedRelations(system, catalog, warn)
  if (requiresRls(config)) await reportClosedRelations(system, catalog, warn)
}

/** Rejects a stand-in beside a server that other machines reach: anyone could sign in as anyone. */
function requireLoopback({ server }: Config, standIn: string | undefined): string | undefined {
  if (standIn !== undefined && !isReachedAtLoopback(server))
    throw new Error('sign-in providers are replaced only on a server that no other machine reaches')
  return standIn
}

/** Returns the functions of accounts, which are wired after them. */
function accountFunctionsOf(functions: () => AccountFunctions): AccountFunctions {
  return {
    has: (kind) => functions().has(kind),
    transaction: (database, work, kinds) => functions().transaction(database, work, kinds),
    signUp: (...terms) => functions().signUp(...terms),
    claims: (...terms) => functions().claims(...terms),
    fault: (kind, problem) => functions().fault(kind, problem),
  }
}

async function wire(
  {
    config,
    log: output,
    changes,
    resolve,
    resolveTxt,
    reachProvider,
    providerStandIn,
    passwords = createPasswordHasher(),
    dashboardFiles,
    docsSite,
    rehearsal,
    functionTest,
    machine,
  }: AppOptions,
  clock: Clock,
  database: Database,
  catalog: LiveCatalog,
): Promise<App> {
  let isStopping = false
  let secretBox: SecretBox | undefined
  const { system, openListener } = database
  const metrics = new Metrics(machine?.worker)
  metrics.watchPool(
    () => database.user.stats,
    () => database.connections.limit,
  )
  if (database.replicas !== undefined) watchReplicas(metrics, database.replicas)
  const version = readVersion()
  const observation = await openObservation(
    {
      config,
      database,
      metrics,
      clock,
      version,
      measureStorage: measureFiles(config, system, () => notifications.isLeading),
    },
    output,
  )
  const { log, storedLog } = observation
  const notifications = new Notifications({
    database: system,
    openListener,
    clock: clock instanceof DatabaseClock ? clock : undefined,
    peers: machine?.peers,
    log,
  })
  catalog.watchWith(notifications)
  const publicUrl = new PublicUrl(config.server)
  const publicBaseUrl = () => publicUrl.current
  const platform: Platform = {
    config,
    isDevelopment: isDevelopment(config),
    version,
    output,
    log,
    clock,
    database,
    catalog,
    notifications,
    queue: observation.observeJobs(openJobQueue({ config, database, notifications, log })),
    metrics,
    origins: createOrigins({
      allowed: config.server.cors_allowed_origins,
      publicBaseUrl,
      isLocalOnly: !config.auth.enabled && !config.server.insecure_open,
    }),
    publicBaseUrl,
    secrets: () => (secretBox ??= createSecretBox(resolveEncryptionKeys(config))),
    isStopping: () => isStopping,
    machine,
  }
  if (platform.isDevelopment && isFirst(machine)) {
    log.info(
      'development: this log contains codes and links, common passwords are accepted, limits per address are wide',
    )
  }
  if (openListener === undefined && isFirst(machine)) {
    log.info(
      'polling for changes: database.url leads to a transaction pooler, and database.listen_url is not set',
    )
  }
  requireKeysOf(config, [
    { kind: 'TOTP', countByKey: await countTotpSecretsByKey(system) },
    { kind: 'webhooks', countByKey: await countWebhookSecretsByKey(system) },
    { kind: 'sign-in providers', countByKey: await countClientSecretsByKey(system) },
    { kind: 'push providers', countByKey: await countPushCredentialsByKey(system) },
    { kind: 'second factors of administrators', countByKey: await countFactorSecretsByKey(system) },
    { kind: 'secrets of functions', countByKey: await countSecretsByKey(system) },
  ])

  const breachedPasswords = config.auth.refuse_breached_passwords
    ? createBreachedPasswords({
        url: config.auth.breached_passwords_url,
        outbound: createOutbound({ allowsPrivate: () => true }),
        log,
      })
    : noBreachedPasswords
  const operations = wireOperations(platform, {
    passwords,
    breachedPasswords,
    errors: listErrors(),
    routes: () => functions.host.publishedRoutes,
    dashboardFiles,
    dashboardUrl: () => dashboardUrl(),
    docsSite,
    isRehearsal: rehearsal !== undefined,
  })
  const settings = openAuthSettings(platform)
  const messaging = wireMessaging(platform, {
    resolve,
    isSmsEnabled: () => settings?.current.sms_enabled ?? false,
    lockCaller: lockSelf,
    dashboardUrl: () => dashboardUrl(),
    mailFunction:
      rehearsal === undefined
        ? { exists: () => functions.single.has('sendMail'), send: (mail) => functions.single.sendMail(mail) }
        : noMailFunction,
  })
  const identity = wireIdentity(platform, {
    passwords,
    breachedPasswords,
    throttle: operations.throttle,
    administration: operations.administration,
    mail: messaging.mail,
    sms: messaging.sms,
    functions: rehearsal === undefined ? accountFunctionsOf(() => functions.single) : noAccountFunctions,
    settings,
    jwtSecret: () => resolveJwtSecret(config),
    reachProvider,
    providerStandIn: requireLoopback(config, providerStandIn),
    resolve,
  })
  const verifiers = [operations.adminTokens, ...identity.verifiers]
  const embedders = createEmbedders(config.ai)
  const operatorSecrets = openSecrets(platform)
  const events = wireEvents(platform, {
    verifiers,
    embedders,
    operatorSecrets,
    limiter: observation.enforcePlans(identity.limiter),
    callerLimiter: identity.callerLimiter,
    resolve,
    openPopup: identity.openPopup,
    changeHandlers: () => functions.after,
  })
  // Functions use the data API, and its writes pass the hooks of functions. A rehearsal undoes everything, and runs no hooks.
  const hooks: WriteHooks =
    rehearsal === undefined ? { current: () => functions.host.currentHooks() } : noHooks
  const data = wireData(platform, {
    hooks,
    changes: changes ?? events.changes,
    embedders,
    listCaptured: events.listCaptured,
    graphqlStreams: events.graphqlStreams,
    callers: identity.callers,
    requireSafe,
  })
  const files = wireFiles(platform, { resolve, resolveTxt })
  const functions = wireFunctions(platform, {
    replaceReceivers: events.replaceReceivers,
    openData: data.openData,
    secrets: operatorSecrets,
    messages: { ...messaging.ofFunctions, broadcasts: events.broadcasts },
    storage: files.ofFunctions,
    resolve,
    stubOf: functionTest?.stubOf,
  })
  const features = [
    ...observation.features(platform.queue, notifications),
    ...[operations, data, events, messaging, identity, files, functions].flatMap((area) => area.features),
    structure({
      database,
      catalog,
      clock,
      scope: catalogScopeOf(config),
      isCaptureEnabled: config.events.capture === 'on',
      project: config.project,
    }),
  ]
  const { workers } = events

  const http = await createHttpServer({
    config,
    authentication: {
      isRequired: config.auth.enabled,
      verifiers,
      limiter: identity.limiter,
      callerLimiter: identity.callerLimiter,
      resourceMetadataUrl: identity.resourceMetadataUrl,
    },
    origins: platform.origins,
    metrics,
    log,
    requestLog: output,
    observers: observation.observers,
    logsDashboardReads: operations.logsDashboardReads,
    rewriteUrl: files.rewriteUrl,
    clock,
    publicBaseUrl,
    isDevelopment: platform.isDevelopment,
    version,
  })
  publicUrl.follow(http.server)
  const adminListener = confineAdministration(http, config.admin, config.server.max_connections)
  const dashboardUrl = () =>
    config.admin.enabled ? `${adminListener?.origin() ?? publicBaseUrl()}${config.admin.path}` : undefined
  const connections = trackConnections(http.server)
  for (const feature of [...features, ...workers]) feature.routes?.(http)
  await http.ready()
  const firstSignIn = await operations.ensureAdministrator()
  await notifications.start()
  for (const feature of [...features, ...workers]) await feature.start?.()

  let hasHandedOver = false
  const endStreams = () => {
    // Clients whose connections remain for a moment must not regard this node as unavailable.
    isStopping = !hasHandedOver
    for (const feature of features) feature.drain?.()
  }
  return {
    http,
    log,
    storedLog,
    metrics,
    database,
    catalog,
    functions: functions.host,
    secrets: operatorSecrets,
    firstSignIn,
    publicBaseUrl,
    dashboard: operations.dashboard,
    dashboardUrl,
    async listen() {
      await adminListener?.listen(machine?.ports)
      await listen(http, config.server, machine?.ports)
    },
    async drain() {
      endStreams()
      adminListener?.close()
      await drainConnections(http.server, connections)
    },
    async handOver() {
      hasHandedOver = true
      adminListener?.close()
      await handOverConnections(http.server, connections, endStreams)
    },
    cutOff: () => http.server.closeAllConnections(),
    async close() {
      endStreams()
      adminListener?.close()
      await closeServer(http.server, connections, () => http.close(), config.server.shutdown_timeout)
      // They could not end cleanly without the database. Their leases expire, and other nodes take over.
      const stopped = Promise.allSettled(workers.map(async (worker) => worker.stop?.()))
      if (await ping(system)) await stopped
      // The last statement of each feature would wait for its own timeout, one after the other.
      else if (!(await isReachable(database.aside.open))) database.disconnect()
      for (const feature of features.toReversed()) await feature.stop?.()
      await notifications.stop()
      await database.close()
    },
  }
}
