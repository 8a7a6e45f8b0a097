import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import type { Database } from '../../../database/open.ts'
import type { ListPlan } from '../../data/collections/index.ts'
import type { Callers, ExaminedCaller } from './caller/callers.ts'
import type { Rehearsal } from './rehearsal/rehearsal.ts'
import type { OpenCollections } from './rehearsal/run-request.ts'
import type { Slots } from './rehearsal/slots.ts'

export interface AccessContext {
  readonly database: Pick<Database, 'system' | 'user' | 'aside'>
  readonly catalog: LiveCatalog
  readonly callers: Callers
  readonly openCollections: OpenCollections
  /** The rows that a list of the administrator would read. */
  readonly planRows: (catalog: Catalog, relation: Relation, queryString: string) => ListPlan
  /** Writes a file of cases, where the project has them, and answers its path in the project. @throws OperatorError where there is one */
  readonly writeCases: (name: string, content: string) => string
  /** Each explanation holds a connection. */
  readonly slots: Slots
}

/** A table through the eyes of a caller, in a rehearsal of the caller's own. */
export interface Look {
  readonly context: AccessContext
  readonly rehearsal: Rehearsal
  readonly catalog: Catalog
  readonly relation: Relation
  readonly caller: ExaminedCaller
}

/** A filter as the query string of a list. */
export function toQuery(filter: string | undefined): string {
  return filter === undefined || filter === '' ? '' : `filter=${encodeURIComponent(filter)}`
}
