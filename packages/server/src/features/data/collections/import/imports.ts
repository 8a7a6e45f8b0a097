import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { ChangeLog } from '../../../../database/change-log.ts'
import type { Database } from '../../../../database/open.ts'
import { createSlots } from '../../../operations/throttle/index.ts'
import type { WritesOnce } from '../../idempotency/index.ts'
import type { WriteHooks } from '../hooks/write-hooks.ts'
import { StatementCache } from '../statement-cache.ts'
import type { BackgroundImports } from './background.ts'
import type { FindCommitted } from './deferred.ts'

export interface ImportDeps {
  readonly catalog: LiveCatalog
  readonly database: Pick<Database, 'user' | 'aside'>
  readonly findCommitted: FindCommitted
  readonly writesOnce: WritesOnce
  readonly changes: ChangeLog
  /** Code of the operator that rows pass before they are inserted. */
  readonly hooks: WriteHooks
  /** True if errors caused by the operator's own definitions carry PostgreSQL's text for every caller. */
  readonly isDevelopment: boolean
  readonly limits: ImportLimits
  readonly background: BackgroundImports
}

export interface ImportLimits {
  readonly maxSizeMb: number
  readonly maxRows: number
  /** Maximum number of rows that the database may reject in the mode `partial`. */
  readonly maxRefused: number
  readonly timeoutSeconds: number
  /** Maximum size of one row in bytes. */
  readonly rowBytes: number
}

/** Imports of this node. */
export interface Imports extends ImportDeps {
  readonly statements: StatementCache
  readonly slots: ReturnType<typeof createSlots>
}

export function openImports(deps: ImportDeps): Imports {
  return { ...deps, statements: new StatementCache(), slots: createSlots() }
}
