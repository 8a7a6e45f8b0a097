import type { Config } from '../../configuration.ts'
import type { SystemDatabase } from '../../database/system-database.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import { cdn } from './cdn/index.ts'
import { type ResolveTxt, sites } from './sites/index.ts'
import { createStorageMeasure, isStorageEnabled, storage } from './storage/index.ts'

export type { ResolveTxt } from './sites/index.ts'

export interface FilesOptions {
  readonly resolve?: Resolve | undefined
  readonly resolveTxt?: ResolveTxt | undefined
}

/** Wires the features that store and serve files. */
export function wireFiles(platform: Platform, { resolve, resolveTxt }: FilesOptions) {
  const { config, database, queue, notifications, clock, publicBaseUrl } = platform
  const { system } = database
  // The operator chooses the address, which may be in the same network.
  const outbound = createOutbound({
    allowsPrivate: () => true,
    ...(resolve === undefined ? {} : { resolve }),
  })
  const { server } = config
  const network = cdn({ config: config.storage.cdn, database: system, queue, outbound, clock })
  const hosting = sites({
    config: config.sites,
    server,
    database: system,
    queue,
    notifications,
    publicBaseUrl,
    resolveTxt,
    purge: network.purge,
  })
  const stored = storage({ ...platform, purge: network.purge })
  return {
    /** Rewrites the URLs of requests for sites, before routing. */
    rewriteUrl: hosting.rewriteUrl,
    ofFunctions: stored.ofFunctions,
    features: [network.feature, hosting.feature, stored.feature],
  }
}

/** Creates the measure of storage by app, for the usage; undefined while storage is disabled. */
export function measureFiles(config: Config, database: SystemDatabase, isLeading: () => boolean) {
  if (!isStorageEnabled(config)) return undefined
  const measure = createStorageMeasure(database)
  return async () => (isLeading() ? await measure() : new Map<string, number>())
}
