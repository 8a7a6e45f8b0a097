import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import type { Database } from '../../../database/open.ts'
import type { Slots } from '../../operations/throttle/index.ts'
import type { ListPlan } from '../collections/index.ts'
import type { Callers, ExaminedCaller } from './examined-caller.ts'
import type { Rehearsal } from './rehearsal/rehearsal.ts'
import type { OpenCollections } from './rehearsal/run-request.ts'

export interface AccessContext {
  readonly database: Pick<Database, 'system' | 'user' | 'aside'>
  readonly catalog: LiveCatalog
  readonly callers: Callers
  readonly openCollections: OpenCollections
  /** Plans the list that reads the rows as the administrator. */
  readonly planRows: (catalog: Catalog, relation: Relation, queryString: string) => ListPlan
  /** Folders of the project, for files of cases. */
  readonly project: { readonly policies: string; readonly migrations: string }
  /** Checks an expression of a developer. @throws AppError that names the member */
  readonly requireSafe: (expression: string, member: string) => unknown
  /** Slots of explanations, each of which holds a connection. */
  readonly slots: Slots
}

/** Examination of a table as a caller, in a rehearsal of the caller's own. */
export interface Examination {
  readonly context: AccessContext
  readonly rehearsal: Rehearsal
  readonly catalog: Catalog
  readonly relation: Relation
  readonly caller: ExaminedCaller
}

/** Returns the query string of a list with this filter. */
export function toQuery(filter: string | undefined): string {
  return filter === undefined || filter === '' ? '' : `filter=${encodeURIComponent(filter)}`
}
