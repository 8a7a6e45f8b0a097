import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import type { ChangeLog } from '../../../database/change-log.ts'
import type { Database } from '../../../database/open.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import type { WritesOnce } from '../idempotency/index.ts'
import type { ViewAs } from '../view-as/index.ts'
import { type ExportLimits, Exports } from './export/exports.ts'
import type { WriteHooks } from './hooks/write-hooks.ts'
import type { ReadLimits } from './plan/list.ts'
import type { SearchDefinitions } from './plan/search.ts'
import type { QueryEmbedder } from './read/list-request.ts'
import { StatementCache } from './statement-cache.ts'

export interface CollectionDeps {
  readonly catalog: LiveCatalog
  readonly database: Pick<UserDatabase, 'run' | 'begin'>
  readonly viewAs: ViewAs
  readonly writesOnce: WritesOnce
  /** Connections outside the pools, for exports. */
  readonly aside: Database['aside']
  /** Read replicas, for exports that request one. */
  readonly replicas?: Database['replicas']
  readonly changes: ChangeLog
  /** Code of the operator that writes pass before their statement. */
  readonly hooks: WriteHooks
  /** Makes vectors for searches by meaning; undefined when no provider is configured. */
  readonly embedder?: QueryEmbedder | undefined
  readonly searches: SearchDefinitions
  /** True if changes of some tables are recorded with the request that made them. */
  readonly isAudited: boolean
  /** True if errors caused by the operator's own definitions carry PostgreSQL's text for every caller. */
  readonly isDevelopment: boolean
  /** Maximum number of records that one write by filter may change. */
  readonly bulkLimit: number
  readonly limits: ReadLimits
  readonly exportLimits: ExportLimits
  readonly log: Pick<Logger, 'warn'>
}

/** Dependencies and state that the endpoints of the data API share. */
export interface Collections extends CollectionDeps {
  readonly statements: StatementCache
  readonly exports: Exports
  /** Relations whose creates must not be merged, as PostgreSQL reported. They are forgotten with their snapshot. */
  readonly unmergeable: WeakSet<Relation>
}

export function openCollections(deps: CollectionDeps): Collections {
  return {
    ...deps,
    statements: new StatementCache(),
    exports: new Exports(deps),
    unmergeable: new WeakSet(),
  }
}
