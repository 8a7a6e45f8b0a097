import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { isNotCaptured } from '../../../../database/change-log.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import {
  mayBlameOldDefinitions,
  translateDatabaseFailure,
} from '../../../../database/errors/error-translation.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import { tokenRequired } from '../../../../http/access/grants.ts'
import { AppError } from '../../../../lib/errors.ts'
import { collectionErrors } from '../errors.ts'
import { privilegesOf, type Reader } from '../plan/reader.ts'
import { requireRls } from './require-rls.ts'

/** Maximum number of attempts: while DDL keeps running, a new snapshot can be outdated again. */
const attemptLimit = 10

/**
 * Runs work that is planned on the current catalog snapshot. When PostgreSQL contradicts the snapshot (a column was
 * dropped), or the request names an unknown object, the catalog is read again and the work is retried on the new
 * snapshot. The catalog is read again for an unknown name only once. An object that a read begun after the request
 * does not find did not exist when the request was sent.
 *
 * @param unknownKinds errors of requests that name an object the snapshot does not have
 */
export async function withCatalog<Result>(
  live: LiveCatalog,
  work: (catalog: Catalog) => Promise<Result>,
  unknownKinds: ReadonlySet<string> = outdatedKinds,
): Promise<Result> {
  let hasRetriedName = false
  for (let attempt = 1; ; attempt += 1) {
    const catalog = live.current
    try {
      return await work(catalog)
    } catch (error) {
      // The next attempt stashes its changes.
      if (isNotCaptured(error) && attempt < attemptLimit) continue
      const isName = isUnknownName(error, unknownKinds)
      const mayRetry =
        attempt < attemptLimit && mayBeOutdated(error, unknownKinds) && !(isName && hasRetriedName)
      // A newer snapshot may have been read before the request was sent.
      hasRetriedName ||= isName && live.current === catalog
      if (mayRetry && (await live.refresh(catalog))) continue
      throw error instanceof StatementFailed ? (translateDatabaseFailure(error) ?? error) : error
    }
  }
}

/** Returns whether an outdated snapshot can cause the failure. In that case nothing was changed. */
function mayBeOutdated(error: unknown, unknownKinds: ReadonlySet<string> = outdatedKinds): boolean {
  if (!(error instanceof AppError)) return mayBlameOldDefinitions(error)
  return isUnknownName(error, unknownKinds) || mayBlameOldDefinitions(error.extras.cause)
}

function isUnknownName(error: unknown, unknownKinds: ReadonlySet<string>): boolean {
  return error instanceof AppError && unknownKinds.has(error.kind)
}

/** Errors of requests that name an object the snapshot does not have. */
const outdatedKinds: ReadonlySet<string> = new Set([
  'collection_not_found',
  'unknown_column',
  'unknown_filter_column',
  'unknown_aggregate_column',
  'unknown_group_column',
  'unknown_relation',
  'vector_column_not_found',
  'not_vector_column',
  'no_vector_columns',
  'vector_index_table_not_found',
  'semantic_needs_pgvector',
  'hybrid_needs_pgvector',
  // A column or an extension may have been added.
  'search_not_supported',
  'fuzzy_search_unavailable',
  // The table may just have been secured or granted.
  'rls_required',
  'insufficient_permissions',
])

/**
 * Returns the relation that a request names. A request without a token does not learn whether a relation exists that
 * its role has no privilege on.
 *
 * @throws AppError collection_not_found, missing_authorization, rls_required
 */
export function requireRelation(catalog: Catalog, collection: string, reader: Reader): Relation {
  const relation = catalog.relations.get(collection)
  if (reader === 'anonymous' && !isGrantedAnything(relation)) throw tokenRequired()
  if (relation === undefined) {
    throw collectionErrors.collectionNotFound(collection, catalog.partitions.get(collection)?.partitionOf)
  }
  requireRls(relation, reader)
  return relation
}

function isGrantedAnything(relation: Relation | undefined): boolean {
  return relation !== undefined && Object.values(privilegesOf(relation, 'anonymous')).includes(true)
}

/**
 * @throws AppError collection_not_found, missing_authorization, rls_required, insufficient_permissions,
 *   write_not_allowed
 */
export function requireWritable(catalog: Catalog, collection: string, reader: Reader): Relation {
  const relation = requireRelation(catalog, collection, reader)
  if (relation.isOfExtension && reader !== 'unrestricted') {
    throw databaseErrors
      .insufficientPermissions()
      .with({ data: { hint: 'the table belongs to an extension of the database' } })
  }
  if (relation.kind === 'table' || relation.kind === 'partitioned_table') return relation
  const error = collectionErrors.writeNotAllowed(relation.kind.replace('_', ' '))
  throw error.with({ headers: { allow: 'GET, HEAD' } })
}
