import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import { cdn } from './cdn/index.ts'
import { sites } from './sites/index.ts'

/** Wires what serves files. */
export function wireFiles(platform: Platform, { resolve }: { readonly resolve?: Resolve | undefined }) {
  const { config, database, queue, notifications, clock, publicBaseUrl } = platform
  const { system } = database
  // The operator names the address, which may well be one of the same network.
  const outbound = createOutbound({
    allowsPrivate: () => true,
    ...(resolve === undefined ? {} : { resolve }),
  })
  const { server } = config
  const hosting = sites({
    config: config.sites,
    server,
    database: system,
    queue,
    notifications,
    publicBaseUrl,
  })
  return {
    /** Leads requests for sites to them, before routing. */
    rewriteUrl: hosting.rewriteUrl,
    features: [
      cdn({ config: config.storage.cdn, database: system, queue, outbound, clock }),
      hosting.feature,
    ],
  }
}
