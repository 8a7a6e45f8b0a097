import type { Logger } from 'pino'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { acceptStreams } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { createWritesOnce } from '../../data/idempotency/index.ts'
import { refuseBeyondPlan, storageLimits, type UsageConfig } from '../../operations/usage/index.ts'
import type { CdnConfig, PurgeChanged } from '../cdn/index.ts'
import { bucketOperations } from './buckets/operations.ts'
import { openByteStore } from './bytes/open-store.ts'
import type { StorageConfig } from './config.ts'
import { addDownloads } from './download/downloads.ts'
import { storageErrors } from './errors.ts'
import { createFunctionStorage, type FunctionStorage } from './function-storage.ts'
import { createImageService } from './images/images.ts'
import { createTransformer } from './images/transformer.ts'
import { objectPath } from './object.ts'
import { createCopier } from './objects/copy.ts'
import { list } from './objects/list.ts'
import { lookUpObject } from './objects/object-queries.ts'
import { createObjectService } from './objects/objects.ts'
import { addActions, remove } from './objects/operations.ts'
import { createUploader } from './objects/upload.ts'
import { uploadOperations } from './objects/uploads.ts'
import { templateOperations } from './policies/templates.ts'
import { quotaOperations } from './quotas/operations.ts'
import { createReaper } from './reaper.ts'
import { addResumableUploads } from './resumable/operations.ts'
import { createAddressService } from './signing/addresses.ts'

export { openByteStore } from './bytes/open-store.ts'
export { StoreFailed } from './bytes/store.ts'
export { checkStorage, removeOrphans, type StorageReport } from './check.ts'
export { storageErrorTable } from './errors.ts'
export { type FunctionStorage, storageActions } from './function-storage.ts'
export { createStorageMeasure } from './quotas/measure.ts'

/** Sections of the configuration that storage reads. */
export interface StorageSections {
  readonly storage: StorageConfig & { readonly cdn: CdnConfig }
  readonly usage: UsageConfig
  readonly server: { readonly data_dir: string }
  readonly database: { readonly url: string; readonly branch: string }
}

export interface StorageDeps {
  readonly config: StorageSections
  readonly database: Database
  readonly queue: JobQueue
  readonly clock: Clock
  readonly log: Logger
  readonly publicBaseUrl: () => string
  readonly purge: PurgeChanged | undefined
}

/** Provides files of users: rows in the database under the operator's policies, bytes on a disk or in an S3 bucket. */
export function storage({ config, database, queue, clock, log, publicBaseUrl, purge }: StorageDeps): {
  readonly feature: Feature
  /** Storage as functions use it, in the transactions of their calls. */
  readonly ofFunctions: FunctionStorage
} {
  const { system } = database
  const { default_quota_mb, max_file_size, upload_timeout, image_cache_mb, cdn, cdn_url } = config.storage
  const isEnabled = isStorageEnabled(config)
  const store = openByteStore(config, clock)
  const urlOf = (bucket: string, name: string) =>
    `${(cdn_url || publicBaseUrl()).replace(/\/$/, '')}${objectPath(bucket, name)}`
  const reaper = createReaper({
    database: system,
    queue,
    store: isEnabled ? store : undefined,
    purge,
    urlOf,
    now: () => clock.now(),
    imageCacheBytes: image_cache_mb * 1024 * 1024,
    onFailure: (error) =>
      log.warn({ reason: messageOf(error) }, 'failed to add a job of storage; the schedule will add one'),
  })
  const writesOnce = createWritesOnce(database)
  const common = {
    urlOf,
    defaultQuotaMb: default_quota_mb,
    plans: {
      limits: config.usage.enforce ? storageLimits(config.usage.plans) : '',
      exceeded: () => refuseBeyondPlan('storage_bytes', clock.now()),
    },
    reaper,
  }
  const objects = createObjectService({
    ...common,
    database: database.user,
    find: async (bucket, name) =>
      (await system.maybeOne<{ found: string }>(sql.prepared(lookUpObject(bucket, name))))?.found,
    writesOnce,
  })
  const uploader = createUploader({
    database: system,
    store,
    objects,
    maxFileSize: max_file_size,
    timeoutSeconds: upload_timeout,
  })
  const transformer = createTransformer()
  const images = createImageService({ database: system, store, transformer })
  const ofFunctions = createFunctionStorage({
    ...{ isEnabled, database: system, store, objects: common, maxFileSize: max_file_size, publicBaseUrl },
  })
  const feature: Feature = {
    name: 'storage',
    routes(app) {
      void app.register(async (scope: HttpServer) => {
        // After the guard, and before the body is read.
        if (!isEnabled) {
          scope.addHook('preParsing', ({ method }, _reply, _payload, done) =>
            method === 'OPTIONS' ? done() : done(storageErrors.storageNotEnabled()),
          )
        }
        const addresses = createAddressService({ database: system, objects })
        const copier = createCopier({ database: system, store, objects, uploader, writesOnce })
        addOperations(scope, { database: system, reaper }, bucketOperations)
        addOperations(scope, { database: system, defaultQuotaMb: default_quota_mb }, quotaOperations)
        addOperations(scope, { database: system }, templateOperations)
        addResumableUploads(scope, { database: system, store, objects, uploader, reaper }, max_file_size)
        void scope.register(async (streams: HttpServer) => {
          acceptStreams(streams)
          addOperations(streams, { uploader, addresses }, uploadOperations)
        })
        addOperations(scope, { objects }, [list, remove])
        addActions(scope, { objects, uploader, copier, addresses })
        addDownloads(scope, {
          store,
          objects,
          images,
          addresses,
          // A network that is purged on changes may keep objects even if browsers must revalidate them each time.
          publicCacheControl:
            cdn.provider === 'nop'
              ? 'public, no-cache'
              : 'public, max-age=0, s-maxage=31536000, must-revalidate',
        })
      })
    },
    async stop() {
      transformer.stop()
      await reaper.stop()
    },
  }
  return { feature, ofFunctions }
}

/**
 * Enables storage automatically where one server has its own database, or where all nodes share a bucket. Other nodes would
 * have to share the directory.
 */
export function isStorageEnabled({
  storage,
  database,
}: Pick<StorageSections, 'storage' | 'database'>): boolean {
  if (storage.enabled !== 'auto') return storage.enabled
  // Both the database and its copy name the same byte store: bytes deleted through the copy would be missing there.
  if (database.branch !== '') return false
  return database.url === '' || storage.backend === 's3'
}
