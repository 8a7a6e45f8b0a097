import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { isDevelopment } from './config/development.ts'
import type { Config } from './config/schema.ts'
import { LiveCatalog } from './database/catalog/live-catalog.ts'
import type { ChangeLog } from './database/change-log.ts'
import type { ClusterSettings } from './database/embedded/cluster.ts'
import { translateDatabaseFailure } from './database/errors.ts'
import { Notifications } from './database/notifications.ts'
import { type Database, openDatabase } from './database/open.ts'
import { sql } from './database/sql.ts'
import type { SystemDatabase } from './database/system-database.ts'
import { createLane } from './database/write-behind.ts'
import { listErrors } from './error-catalog.ts'
import type { Feature } from './feature.ts'
import { collections } from './features/data/collections/index.ts'
import { matviews } from './features/data/matviews/index.ts'
import { createSchemaLog, schema } from './features/data/schema/index.ts'
import { createJobQueue, jobs } from './features/events/jobs/index.ts'
import { events, Interests, OutboxChangeLog } from './features/events/outbox/index.ts'
import { realtime } from './features/events/realtime/index.ts'
import { schedules } from './features/events/schedules/index.ts'
import { countWebhookSecretsByKey, webhooks } from './features/events/webhooks/index.ts'
import {
  type AccountContext,
  accounts,
  createAccessTokenVerifier,
  defineAccountHousekeeping,
  deriveKeys,
  EndedSessions,
  refuseEndedSessions,
} from './features/identity/accounts/index.ts'
import { ApiKeyService, ApiKeyVerifier, apiKeys } from './features/identity/api-keys/index.ts'
import { AppLimiter, apps } from './features/identity/apps/index.ts'
import { AuthSettings, authSettings } from './features/identity/auth-settings/index.ts'
import { countTotpSecretsByKey, type MfaContext, mfa, secondFactors } from './features/identity/mfa/index.ts'
import { passkeys } from './features/identity/passkeys/index.ts'
import { createPasswordHasher } from './features/identity/passwords/index.ts'
import { createMailBackend, createMailTemplates, mail } from './features/messaging/mail/index.ts'
import { createSmsProvider } from './features/messaging/sms/index.ts'
import {
  admin,
  createAdminService,
  createAdminTokenVerifier,
  type FirstSignIn,
  removeFirstSignIn,
} from './features/operations/admin/index.ts'
import { audit } from './features/operations/audit/index.ts'
import { health } from './features/operations/health/index.ts'
import { LogStore, logs } from './features/operations/logs/index.ts'
import { metrics } from './features/operations/metrics/index.ts'
import { overview } from './features/operations/overview/index.ts'
import { reference } from './features/operations/reference/index.ts'
import { createThrottle, throttle } from './features/operations/throttle/index.ts'
import { countJobRuns, Meter, Quotas, usage } from './features/operations/usage/index.ts'
import { Metrics } from './http/metrics.ts'
import { createOrigins } from './http/origins.ts'
import { createOutbound, type Resolve } from './http/outbound.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import { closeServer, seeOffClients, trackConnections } from './http/shutdown.ts'
import { untilAborted } from './lib/abort.ts'
import { httpOrigin, isLoopback } from './lib/addresses.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { codeOf, messageOf, OperatorError } from './lib/errors.ts'
import { createSecretBox, type SecretBox } from './lib/secret-box.ts'
import { embeddedPassword, requireKeysOf, resolveEncryptionKeys, resolveJwtSecret } from './secrets.ts'
import { readVersion } from './version.ts'

export interface AppOptions {
  readonly config: Config
  readonly log: Logger
  readonly clock?: Clock
  /** Where changes go instead of the log of events; for tests. */
  readonly changes?: ChangeLog
  /** Finds addresses of names that webhooks go to; for tests. */
  readonly resolve?: Resolve
  /** Settings of the embedded cluster; for tests. */
  readonly embeddedSettings?: ClusterSettings
  /** Stops the start, which then rejects with the signal's reason, whatever it waits for. */
  readonly signal?: AbortSignal
}

/** A whole server, wired and ready to listen. */
export interface App {
  readonly http: HttpServer
  readonly database: Database
  readonly catalog: LiveCatalog
  /** What to show once, when this start made the administrator's password. */
  readonly firstSignIn: FirstSignIn | undefined
  /** Where clients reach the server; final once it listens. */
  publicBaseUrl(): string
  /** @throws OperatorError when the address is taken */
  listen(): Promise<void>
  /** Tells load balancers and clients to go elsewhere, and gives them a moment for it. Requests are still answered. */
  drain(): Promise<void>
  /** Cuts off requests under way, which lets a {@link App.close} that waits for them finish. */
  cutOff(): void
  /** Answers what is under way, then closes everything. */
  close(): Promise<void>
}

/** The composition root: configuration, database, HTTP, features, in this order, and nothing else. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, log, clock = systemClock, signal } = options
  const database = await openDatabase(config, {
    purpose: 'basalt start',
    log: (message, detail = {}) => log.warn(detail, message),
    embeddedPassword: embeddedPassword(config),
    ...(options.embeddedSettings === undefined ? {} : { embeddedSettings: options.embeddedSettings }),
    signal,
  })
  try {
    const opening = LiveCatalog.open({
      database: database.system,
      schemas: config.database.schemas,
      requireRls: config.database.require_rls,
      clock,
      onChange: createSchemaLog({
        log,
        isForPeople: config.logging.format === 'pretty',
        isAuthEnabled: config.auth.enabled,
      }),
    })
    const catalog = await untilAborted(signal, opening)
    return await untilAborted(signal, wire(options, clock, database, catalog))
  } catch (error) {
    await database.close(signal?.aborted)
    // The database went away or filled up in the middle of the start.
    const failure = translateDatabaseFailure(error)
    throw failure?.status === 503 ? new OperatorError(`${failure.message}: ${messageOf(error)}`) : error
  }
}

async function wire(
  { config, log: output, changes, resolve }: AppOptions,
  clock: Clock,
  database: Database,
  catalog: LiveCatalog,
): Promise<App> {
  let isStopping = false
  const { system, openListener } = database
  const measurements = new Metrics()
  measurements.watchPool(() => database.user.stats)
  const lane = createLane()
  const store = new LogStore({
    config: config.logging,
    database: system,
    lane,
    metrics: measurements,
    log: output,
    serviceName: config.telemetry.service_name,
  })
  const { log } = store
  const meter = new Meter({ database: system, lane, clock, log })
  const telemetry =
    config.telemetry.otlp_endpoint === ''
      ? undefined
      : (await import('./features/operations/telemetry/index.ts')).createTelemetry({
          config: config.telemetry,
          node: store.node,
          version: readVersion(),
          metrics: measurements,
          log,
        })
  if (telemetry !== undefined) {
    system.observe(telemetry.tracer.observeStatements)
    database.user.observe(telemetry.tracer.observeStatements)
  }
  const quotas = config.usage.enforce
    ? new Quotas({ database: system, plans: config.usage.plans, clock, log })
    : undefined
  const inDevelopment = isDevelopment(config)
  if (inDevelopment) {
    log.info(
      'development: codes and links stand in this log, common passwords are accepted, limits per address are wide',
    )
  }
  const notifications = new Notifications({ database: system, openListener, log })
  catalog.watchWith(notifications)
  const publicBaseUrl = () => config.server.public_base_url || localOrigin(http, config)
  const origins = createOrigins({
    allowed: config.server.cors_allowed_origins,
    publicBaseUrl,
    isLocalOnly: !config.auth.enabled && !config.server.insecure_open,
  })
  const throttling = createThrottle(system)
  const passwords = createPasswordHasher()
  const adminService = createAdminService({
    database: system,
    passwords,
    throttle: throttling,
    forgetFirstSignIn: () => removeFirstSignIn(config.server.data_dir, (message) => log.warn(message)),
  })
  const adminTokens = createAdminTokenVerifier(system)
  const jobQueue = countJobRuns(
    createJobQueue({
      database: system,
      isWorking: config.jobs.enabled,
      concurrency: config.jobs.concurrency,
      retentionDays: config.jobs.retention_days,
      stopTimeout: config.server.shutdown_timeout,
      log,
    }),
    meter,
  )
  const mailBackend = createMailBackend({
    config: config.email,
    isDevelopment: inDevelopment,
    // Codes and links of development are not for the database.
    log: config.email.backend === 'log' ? output : log,
    clock,
  })
  const mailTemplates = createMailTemplates({ database: system, appName: config.email.app_name, log })
  const interests = new Interests(notifications)
  const outbound = createOutbound({
    allowsPrivate: () => allowsPrivateTargets(config),
    ...(resolve === undefined ? {} : { resolve }),
  })
  requireKeysOf(config, [
    { kind: 'TOTP', countByKey: await countTotpSecretsByKey(system) },
    { kind: 'webhooks', countByKey: await countWebhookSecretsByKey(system) },
  ])
  // Made when it is first needed: without auth there may be no secret to make it from.
  let secretBox: SecretBox | undefined
  const secrets = () => (secretBox ??= createSecretBox(resolveEncryptionKeys(config)))
  const endedSessions = new EndedSessions(system, clock, notifications)
  const settings = new AuthSettings(system, config.auth, notifications)
  const keys = config.auth.enabled ? deriveKeys(resolveJwtSecret(config)) : undefined
  const accessTokens =
    keys === undefined
      ? []
      : [refuseEndedSessions(createAccessTokenVerifier({ secret: keys.access, clock }), endedSessions)]
  const accountContext: AccountContext | undefined = keys && {
    config: config.auth,
    isDevelopment: inDevelopment,
    log,
    appName: config.email.app_name,
    database: system,
    keys,
    clock,
    passwords,
    throttle: throttling,
    settings,
    jobs: jobQueue,
    mail: { backend: mailBackend, templates: mailTemplates },
    sms: createSmsProvider({
      config: config.auth,
      isDevelopment: inDevelopment,
      log: config.auth.sms_provider === 'log' ? output : log,
      clock,
    }),
    endedSessions,
    secondFactors,
    siteUrl: () => config.auth.site_url.replace(/\/$/, '') || publicBaseUrl(),
  }
  const limiter = new AppLimiter(system)
  const apiKeyTokens = keys && new ApiKeyVerifier(system, clock, notifications, log)
  const forgetApiKeys = () => apiKeyTokens?.change()
  const verifiers = [adminTokens, ...(apiKeyTokens === undefined ? [] : [apiKeyTokens]), ...accessTokens]
  const mfaContext: MfaContext | undefined = accountContext && {
    accounts: accountContext,
    secrets: secrets(),
  }

  defineAccountHousekeeping(system, jobQueue, config.auth.clean_up.anonymous_days)
  const features: readonly Feature[] = [
    // First, so that they stop last and keep what the others do meanwhile.
    ...(telemetry === undefined ? [] : [telemetry.feature]),
    logs({ config, database: system, store, queue: jobQueue, metrics: measurements, log }),
    usage({ config: config.usage, database: system, meter, quotas, queue: jobQueue, clock, log }),
    health({ database: system, isStopping: () => isStopping }),
    collections({
      catalog,
      database: database.user,
      changes: changes ?? new OutboxChangeLog(interests, notifications),
      isAudited: config.audit.tables.length > 0,
      isDevelopment: inDevelopment,
    }),
    events({ database: system, retentionHours: config.events.retention_hours, log }),
    realtime({
      config: config.realtime,
      database,
      catalog,
      interests,
      notifications,
      verifiers,
      limiter,
      isAuthRequired: config.auth.enabled,
      origins,
      metrics: measurements,
      version: readVersion(),
      clock,
      log,
    }),
    schema(catalog),
    admin(adminService, adminTokens),
    throttle(system),
    overview({ catalog, database: system, version: readVersion(), isAuthRequired: config.auth.enabled }),
    reference({ catalog, errors: listErrors(), publicBaseUrl }),
    ...(config.metrics.enabled ? [metrics(measurements, config.metrics.token)] : []),
    mail({ database: system, templates: mailTemplates, backend: mailBackend, log }),
    apps({ database: system, limiter, onChange: forgetApiKeys }),
    ...(apiKeyTokens === undefined
      ? []
      : [apiKeys({ service: new ApiKeyService(system, clock, forgetApiKeys), verifier: apiKeyTokens })]),
    ...(mfaContext === undefined
      ? []
      : [
          authSettings(settings),
          accounts(mfaContext.accounts),
          mfa(mfaContext),
          passkeys({ mfa: mfaContext, publicBaseUrl, log }),
        ]),
    matviews({ database, queue: jobQueue, refreshTimeout: config.matviews.refresh_timeout }),
    audit({ config: config.audit, database: system, catalog, queue: jobQueue, log }),
  ]
  // After the others, which have said what jobs there are; they end before what they work with.
  const workers: readonly Feature[] = [
    webhooks({
      config: config.webhooks,
      database: system,
      interests,
      notifications,
      outbound,
      secrets,
      queue: jobQueue,
      isPrunedByJob: config.jobs.enabled,
      clock,
      log,
    }),
    jobs({
      queue: jobQueue,
      database: system,
      isEnabled: config.jobs.enabled,
      retentionDays: config.jobs.retention_days,
    }),
    schedules({ database: system, queue: jobQueue, notifications, isEnabled: config.jobs.enabled, log }),
  ]

  const http: HttpServer = await createHttpServer({
    config,
    authentication: { isRequired: config.auth.enabled, verifiers, limiter },
    origins,
    metrics: measurements,
    log,
    requestLog: output,
    observers: [store, meter, ...(quotas === undefined ? [] : [quotas])],
    clock,
    publicBaseUrl,
    version: readVersion(),
  })
  const connections = trackConnections(http.server)
  for (const feature of [...features, ...workers]) feature.routes?.(http)
  await http.ready()
  const firstSignIn = await adminService.ensurePassword(config.admin.password)
  await notifications.start()
  for (const feature of [...features, ...workers]) await feature.start?.()

  const endStreams = () => {
    for (const feature of features) feature.drain?.()
  }

  return {
    http,
    database,
    catalog,
    firstSignIn,
    publicBaseUrl,
    listen: () => listen(http, config),
    async drain() {
      isStopping = true
      endStreams()
      await seeOffClients(http.server, connections)
    },
    cutOff: () => http.server.closeAllConnections(),
    async close() {
      isStopping = true
      endStreams()
      await closeServer(http.server, connections, () => http.close(), config.server.shutdown_timeout)
      // Without the database they could not end well: their leases run out, and others take over.
      const stopped = Promise.allSettled(workers.map(async (worker) => worker.stop?.()))
      if (await answersInTime(system)) await stopped
      for (const feature of features.toReversed()) await feature.stop?.()
      await notifications.stop()
      await database.close()
    },
  }
}

/** Longest time a database that is well takes to answer anything. */
const answerMs = 2000

async function answersInTime(database: SystemDatabase): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), answerMs)
  })
  const answered = database.count(sql`select 1`).then(
    () => true,
    () => false,
  )
  const isWell = await Promise.race([answered, late])
  clearTimeout(timer)
  return isWell
}

/** Whether webhooks may go to private and loopback addresses (decisions, Events). */
function allowsPrivateTargets({ server, webhooks: { allow_private_targets } }: Config): boolean {
  if (allow_private_targets !== 'auto') return allow_private_targets
  return isLoopback(server.public_base_url === '' ? server.host : new URL(server.public_base_url).hostname)
}

/** Before the server listens on a free port of the system's choice, the port is not known. */
function localOrigin(http: HttpServer, { server }: Config): string {
  const address = http.server.address() as AddressInfo | null
  return httpOrigin(server.host, address?.port ?? server.port)
}

async function listen(http: HttpServer, { server }: Config): Promise<void> {
  // Fastify would give `localhost` a second server for ::1, to which neither limits nor the shutdown apply.
  const host = server.host === 'localhost' ? '127.0.0.1' : server.host
  try {
    await http.listen({ host, port: server.port })
  } catch (error) {
    const where = `${server.host}:${server.port}`
    if (codeOf(error) === 'EADDRINUSE') {
      throw new OperatorError(`${where} is taken by another program: stop it or set server.port`)
    }
    throw new OperatorError(`cannot listen on ${where}: ${messageOf(error)}`)
  }
}
