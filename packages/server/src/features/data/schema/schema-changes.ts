import type { Logger } from 'pino'
import {
  compareCatalogs,
  isClosed,
  isUnguarded,
  type RelationChange,
} from '../../../database/catalog/changes.ts'
import type { Catalog } from '../../../database/catalog/model.ts'

export interface SchemaLogOptions {
  readonly log: Logger
  /** True for a sentence for people, false for fields for programs. */
  readonly isForPeople: boolean
  /** True if `auth.enabled` is set. Otherwise every table is open anyway. */
  readonly isAuthEnabled: boolean
}

/** Maximum number of lines per refresh of the catalog: a migration may create hundreds of tables. */
const shownChanges = 20

/** Creates a log of which relations were created, altered and dropped, and which of them no policy protects. */
export function createSchemaLog({ log, isForPeople, isAuthEnabled }: SchemaLogOptions) {
  return (before: Catalog, after: Catalog): void => {
    const changes = compareCatalogs(before, after)
    for (const { change, relation } of changes.slice(0, shownChanges)) {
      const { collection, kind } = relation
      const isOpen = isAuthEnabled && change !== 'dropped' && isUnguarded(relation, 'callers')
      const level = isOpen ? 'warn' : 'info'
      if (isForPeople) log[level](describe({ change, relation }, isOpen))
      else log[level]({ change, collection, kind, isUnguarded: isOpen }, 'schema changed')
    }
    const others = changes.length - shownChanges
    if (others > 0) log.info(`${others} more relations were created, altered or dropped`)
  }
}

/** Describes a change: `table invoice created, with row-level security` */
function describe({ change, relation }: RelationChange, isOpen: boolean): string {
  const what = `${relation.kind.replaceAll('_', ' ')} ${relation.collection} ${change}`
  if (isOpen) return `${what}, open to every signed-in caller: enable row-level security on it`
  if (change !== 'dropped' && isClosed(relation))
    return `${what}, closed to callers until it has row-level security`
  return relation.rlsEnabled && change !== 'dropped' ? `${what}, with row-level security` : what
}
