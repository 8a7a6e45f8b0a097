import type { Config } from '../../config/schema.ts'
import type { SystemDatabase } from '../../database/system-database.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import { cdn } from './cdn/index.ts'
import { sites } from './sites/index.ts'
import { createStorageMeasure, isStorageEnabled, storage } from './storage/index.ts'

/** Wires what serves files. */
export function wireFiles(platform: Platform, { resolve }: { readonly resolve?: Resolve | undefined }) {
  const { config, database, queue, notifications, clock } = platform
  const { system } = database
  // The operator names the address, which may well be one of the same network.
  const outbound = createOutbound({
    allowsPrivate: () => true,
    ...(resolve === undefined ? {} : { resolve }),
  })
  const { server } = config
  const hosting = sites({ config: config.sites, server, database: system, queue, notifications })
  const { feature: cdnFeature, purger } = cdn({
    config: config.storage.cdn,
    database: system,
    queue,
    outbound,
    clock,
  })
  return {
    /** Leads requests for sites to them, before routing. */
    rewriteUrl: hosting.rewriteUrl,
    features: [cdnFeature, hosting.feature, storage(platform, purger)],
  }
}

/** What files take, by app, for the usage; undefined while none are stored. */
export function measureFiles(config: Config, database: SystemDatabase) {
  return isStorageEnabled(config) ? createStorageMeasure(database) : undefined
}
