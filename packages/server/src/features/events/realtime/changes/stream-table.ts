import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import { type StreamCondition, textsOf } from './parse-filter.ts'

/** Table of users’ files. It is no collection, but its policies are the operator’s and its changes are logged. */
const objects = 'basalt.objects'

/** Returns the table of a stream from the catalog. */
export function findStreamTable(catalog: Catalog, table: string): Relation | undefined {
  return catalog.relations.get(table) ?? catalog.systemRelations.get(table)
}

/**
 * Checks that a program may subscribe to a table. A program with access to some buckets names them in its filter.
 *
 * @throws AppError insufficient_scope
 */
export function requireStreamTable(
  scope: CallerScope,
  table: string,
  conditions: readonly StreamCondition[] | undefined,
): void {
  const grant = scope.kind === 'caller' ? scope.grant?.tables : undefined
  const isByBucket = table === objects && grant?.has(objects) === false
  const bucketCondition = isByBucket ? conditions?.find(namesBuckets) : undefined
  if (bucketCondition === undefined) requireTable(scope, table)
  else for (const bucket of textsOf(bucketCondition)) requireTable(scope, `storage:${bucket}`)
}

function namesBuckets(condition: StreamCondition): boolean {
  return condition.column === 'bucket' && (condition.kind === 'in' || condition.operator === '=')
}
