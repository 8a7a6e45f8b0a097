import { existsSync } from 'node:fs'
import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import { divideConnections } from '../../../database/pool/connection-budget.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { acceptRaw } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { JobQueue, JobType } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { FunctionSchedule } from '../../events/schedules/index.ts'
import type { FunctionReceiver } from '../../events/webhooks/index.ts'
import type { FunctionStorage } from '../../files/storage/index.ts'
import type { FunctionSecrets } from '../secrets/index.ts'
import { AfterFunctions, receiversOf } from './after.ts'
import { recorderOf } from './as-admin.ts'
import type { OpenData } from './calls.ts'
import { functionProgram } from './child-process.ts'
import type { FunctionsConfig } from './config.ts'
import { EarlierDeploys } from './earlier-deploys.ts'
import { Enqueueing, type FunctionMessages } from './enqueue.ts'
import { FunctionHost, type HostDeps } from './host.ts'
import { defineRetention } from './inbound.ts'
import { invocationOperations } from './invoke.ts'
import { functionJobs } from './jobs.ts'
import type { AfterDescription, BeforeDescription, FunctionDescription } from './messages.ts'
import { functionOperations, receiveOperation } from './routes.ts'
import { rowsOf } from './schedules.ts'
import { Seals } from './seals.ts'
import { SingleFunctions } from './single-functions.ts'
import { Slots, withinQuota } from './slots.ts'
import { CallStorage } from './storage.ts'

export { describeCaller } from './caller-description.ts'
export { FunctionFailure, type OpenData } from './calls.ts'
export type { FunctionMessages } from './enqueue.ts'
export { runtimeErrors, runtimeErrorTable } from './errors.ts'
export type { FunctionHost } from './host.ts'
export { inboundCaller } from './inbound.ts'
export { addressOf, requireParams } from './invoke.ts'
export { jobCaller } from './jobs.ts'
export type {
  BeforeDescription,
  DataRequest,
  FetchStub,
  FunctionDescription,
  ReplyMessage,
  RouteDescription,
  SqlRequest,
} from './messages.ts'
export type { PublishedRoute } from './published-routes.ts'
export { readFolder } from './read-folder.ts'
export { readFrames, StackFrame } from './stack.ts'
export { StreamedResponse } from './streamed-response.ts'
export { type Addition, type CallWork, nestedWork, Statements } from './transaction.ts'

/** Code that is deployed to this server. */
export interface LiveCode {
  /** Returns the folder with the function files; undefined before the first deploy. */
  liveFolder(): { readonly path: string; readonly hash: string } | undefined
  /** True while a deploy is live that is not on the disk of this machine yet. */
  readonly isPending: boolean
  /** Hash of the live deploy, also while it is not on the disk of this machine. */
  readonly liveHash: string | undefined
  /** Writes a deploy to the disk, and returns the folder with its function files. @throws Error */
  writeFolder(hash: string): Promise<string>
  /** Calls the listener after each change of the folder. */
  onChange(listener: () => void): void
}

export interface RuntimeDeps {
  readonly config: FunctionsConfig
  /** Seconds that running requests may take when the server stops. */
  readonly graceSeconds: number
  readonly database: HostDeps['database']
  readonly system: SystemDatabase
  /** Replaces the functions that handle changes, unless another deploy than this one is live. */
  readonly replaceReceivers: (
    receivers: readonly FunctionReceiver[],
    deploy: string | undefined,
  ) => Promise<void>
  /** Replaces the types of jobs, those for SQL unless another deploy than this one is live. */
  readonly replaceJobTypes: (
    types: readonly JobType<object>[],
    deploy: string | undefined,
    earlier: readonly JobType<object>[],
  ) => Promise<void>
  /** Watches the jobs of earlier deploys that are due, as JSON; undefined on a node without jobs. */
  readonly watchDueDeploys: ((onChange: (due: string | null) => void) => void) | undefined
  /** Returns the reason why the log lacks changes of a relation; undefined if it has all. */
  readonly findEventGap: (relation: Relation) => Promise<string | undefined>
  /** Replaces the schedules of functions, unless another deploy than this one is live. */
  readonly replaceSchedules: (
    schedules: readonly FunctionSchedule[],
    deploy: string | undefined,
  ) => Promise<void>
  readonly catalog: LiveCatalog
  readonly openData: OpenData
  /** Folder of the live deploy. */
  readonly live: LiveCode
  /** Returns the maximum number of connections of this process. */
  readonly connectionLimit: () => number
  readonly log: Logger
  readonly secrets: FunctionSecrets
  readonly outbound: HostDeps['outbound']
  readonly stubOf: HostDeps['stubOf']
  readonly queue: JobQueue
  readonly messages: FunctionMessages
  readonly storage: FunctionStorage
}

/** Creates the feature that runs the functions of a folder. */
export function runtime({
  catalog,
  config,
  graceSeconds,
  database,
  system,
  replaceSchedules,
  replaceReceivers,
  replaceJobTypes,
  watchDueDeploys,
  findEventGap,
  openData,
  live,
  connectionLimit,
  log,
  secrets,
  outbound,
  stubOf,
  queue,
  messages,
  storage,
}: RuntimeDeps): {
  readonly host: FunctionHost
  readonly after: AfterFunctions
  readonly single: SingleFunctions
  readonly feature: Feature
} {
  const { connections, folder } = config
  const limit = () => (connections === 'auto' ? shareOf(connectionLimit()) : connections)
  const slots = new Slots(limit)
  // Jobs are long: requests find the other half free, except with a single connection.
  const jobSlots = withinQuota(slots, new Slots(() => Math.max(1, Math.floor(limit() / 2))))
  const jobs = functionJobs(
    replaceJobTypes,
    () => host,
    [
      async ({ schedules, deploy }) => await replaceSchedules(rowsOf(schedules), deploy),
      async ({ afters, deploy }) => await replaceReceivers(receiversOf(afters), deploy),
    ],
    (reason) => log.error({ reason }, 'failed to record the functions'),
  )
  const after = new AfterFunctions(() => host)
  const seals = new Seals(system)
  const host: FunctionHost = new FunctionHost({
    config,
    graceSeconds,
    database,
    slots,
    openData,
    log,
    secrets,
    outbound,
    stubOf,
    jobSlots,
    storage: new CallStorage(storage, seals),
    enqueueing: new Enqueueing({ seals, wake: () => queue.wake(), messages }),
    seals,
    recordAdminUse: recorderOf(system),
    isReservedJob: (type) => queue.isReserved(type),
    findEventGap: async (table) => {
      const relation = catalog.current.relations.get(table)
      return relation && (await findEventGap(relation))
    },
    onLoad() {
      jobs.refresh()
      after.ready()
      earlier.check()
    },
    program: functionProgram,
  })
  const earlier = new EarlierDeploys({
    ...{ host, log },
    liveHash: () => live.liveHash,
    writeFolder: (hash) => live.writeFolder(hash),
  })
  watchDueDeploys?.((due) => earlier.update(due))
  // Sign-ups hold connections of the system. Half of them stay free for sign-ins and housekeeping.
  const accountSlots = new Slots(() =>
    Math.max(1, Math.floor(divideConnections(connectionLimit()).system / 2)),
  )
  const single = new SingleFunctions({ host: () => host, database, accountSlots, jobSlots })
  defineRetention(system, queue)
  let loading = Promise.resolve()
  /** Loads the live deploy, or the folder of this machine before the first one. Loads run one after the other. */
  const load = () => {
    loading = loading.then(async () => {
      const deployed = live.liveFolder()
      const path = deployed?.path ?? (!live.isPending && existsSync(folder) ? folder : undefined)
      // While a deploy is on its way, writes wait for its hooks.
      if (path === undefined && !live.isPending) host.unload()
      // A fault in the functions must not keep the rest from being served.
      if (path !== undefined)
        await host
          .loadFolder(path, deployed?.hash)
          .then(() => warnOfTables([...host.hooks, ...host.afters], catalog, log))
          .then(() => describeAdmin(host.functions, database, log))
          .catch((error) =>
            log.error({ folder: path, reason: messageOf(error) }, 'failed to load the functions'),
          )
    })
    return loading
  }
  return {
    host,
    after,
    single,
    feature: {
      name: 'functions',
      routes(app) {
        addOperations(app, host, functionOperations)
        addOperations(app, { host, database: system, folder }, invocationOperations)
        void app.register(async (scope: HttpServer) => {
          acceptRaw(scope)
          scope.addHook('onRequest', async (_request, reply) => {
            void reply.header('cache-control', 'no-store')
          })
          addOperations(scope, host, [receiveOperation])
        })
      },
      async start() {
        live.onChange(() => void load())
        await load()
      },
      async stop() {
        jobs.stop()
        earlier.stop()
        await host.stop()
      },
    },
  }
}

/** Returns the connections of functions: a quarter, but two where others remain, so that a job leaves one. */
function shareOf(connections: number): number {
  return Math.max(1, Math.min(connections - 1, Math.max(2, Math.floor(connections / 4))))
}

/** Writes to the log which functions may act as the administrator, or why the database does not allow it. */
async function describeAdmin(
  functions: readonly FunctionDescription[],
  database: RuntimeDeps['database'],
  log: Logger,
): Promise<void> {
  const names = functions.flatMap((each) => ('admin' in each && each.admin === true ? [each.name] : []))
  if (names.length === 0) return
  const reason = await database.findAdministratorFault()
  if (reason === undefined) log.info({ functions: names }, 'functions may act as the administrator')
  else log.warn({ functions: names, reason }, 'functions with admin: true are not available')
}

/** Writes warnings for functions whose table does not exist, or not yet. */
function warnOfTables(
  functions: readonly (BeforeDescription | AfterDescription)[],
  { current }: Pick<LiveCatalog, 'current'>,
  log: Logger,
): void {
  for (const { name, file, table, kind } of functions) {
    if (!current.relations.has(table))
      log.warn({ function: name, file, table }, `the table of this function (${kind}) does not exist`)
  }
}
