import { allowsPrivateTargets } from '../../config/development.ts'
import type { Queryable } from '../../database/system-database.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import { dueDeploys } from '../events/jobs/index.ts'
import { findCaptureGap } from '../events/outbox/index.ts'
import { replaceFunctionSchedules } from '../events/schedules/index.ts'
import type { FunctionReceiver } from '../events/webhooks/index.ts'
import type { FunctionStorage } from '../files/storage/index.ts'
import { deploys, lockLive } from './deploys/index.ts'
import { inspection } from './inspection/index.ts'
import { type FunctionMessages, type OpenData, type RuntimeDeps, runtime } from './runtime/index.ts'
import { SecretStore, secrets } from './secrets/index.ts'

/** Opens the secrets of the operator, which schedules and functions use. */
export function openSecrets({
  database,
  notifications,
  secrets: box,
  log,
}: Pick<Platform, 'database' | 'notifications' | 'secrets' | 'log'>): SecretStore {
  return new SecretStore({ database: database.system, notifications, box, log })
}

export interface FunctionPorts {
  readonly openData: OpenData
  readonly secrets: SecretStore
  readonly messages: FunctionMessages
  readonly storage: FunctionStorage
  /** Replaces the functions that handle changes. @param lock returns false if others are current */
  readonly replaceReceivers: (
    receivers: readonly FunctionReceiver[],
    lock: (transaction: Queryable) => Promise<boolean>,
  ) => Promise<void>
  /** Resolver for the host names of `ctx.fetch`; for tests. */
  readonly resolve?: Resolve | undefined
  /** Server that receives the requests of `ctx.fetch`; for tests of functions. */
  readonly stubOf?: RuntimeDeps['stubOf']
}

/** Wires the features of the operator's own code. */
export function wireFunctions(
  {
    config,
    database,
    catalog,
    notifications,
    queue,
    log,
  }: Pick<Platform, 'config' | 'database' | 'catalog' | 'notifications' | 'queue' | 'log'>,
  { openData, secrets: store, messages, storage, resolve, stubOf, replaceReceivers }: FunctionPorts,
) {
  const deployed = deploys({
    database: database.system,
    notifications,
    queue,
    dataDirectory: config.server.data_dir,
    log,
    findLoadProblem: (folder, hash) => host.findLoadProblem(folder, hash),
  })
  const { host, after, single, feature } = runtime({
    config: config.functions,
    graceSeconds: config.server.shutdown_timeout,
    database: database.user,
    system: database.system,
    replaceSchedules: (schedules, deploy) =>
      replaceFunctionSchedules(database.system, schedules, lockOf(deploy)),
    replaceReceivers: (receivers, deploy) => replaceReceivers(receivers, lockOf(deploy)),
    // A folder of this machine is that of one node.
    replaceJobTypes: (types, deploy, earlier) =>
      queue.replaceFunctionTypes(types, deploy === undefined ? undefined : lockOf(deploy), earlier),
    watchDueDeploys: config.jobs.enabled
      ? (onChange) => void notifications.watch({ topic: 'jobs', version: dueDeploys, onChange })
      : undefined,
    findEventGap: async (relation) =>
      ['table', 'partitioned_table'].includes(relation.kind)
        ? await findCaptureGap(database.system, relation, config.events.capture === 'on')
        : 'it is no table',
    catalog,
    openData,
    live: deployed.live,
    connectionLimit: () => database.connections.limit,
    log,
    secrets: store,
    outbound: createOutbound({
      allowsPrivate: () => allowsPrivateTargets(config),
      ...(resolve === undefined ? {} : { resolve }),
    }),
    stubOf,
    queue,
    messages,
    storage,
  })
  const inspected = inspection({ host, database: database.system, folder: config.functions.folder })
  return { host, after, single, features: [feature, secrets(store), deployed.feature, inspected] }
}

/** Returns a lock that is held by the current functions only: those of the live deploy. */
const lockOf = (deploy: string | undefined) => async (transaction: Queryable) =>
  (await lockLive(transaction)) === (deploy ?? null)
