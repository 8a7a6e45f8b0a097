import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import { type StreamCondition, textsOf } from './parse-filter.ts'

/** The table of files of users: no collection, but its policies are the operator's and its changes are logged. */
const objects = 'basalt.objects'

/** The table of a stream, as the catalog has it. */
export function findStreamed(catalog: Catalog, table: string): Relation | undefined {
  return catalog.relations.get(table) ?? catalog.systemRelations.get(table)
}

/**
 * Makes sure that a program may listen to a table. One that is allowed some buckets names them in its filter.
 *
 * @throws AppError insufficient_scope
 */
export function requireStreamed(
  scope: CallerScope,
  table: string,
  conditions: readonly StreamCondition[] | undefined,
): void {
  const grant = scope.kind === 'caller' ? scope.grant?.tables : undefined
  const isByBucket = table === objects && grant?.has(objects) === false
  const named = isByBucket ? conditions?.find(namesBuckets) : undefined
  if (named === undefined) requireTable(scope, table)
  else for (const bucket of textsOf(named)) requireTable(scope, `storage:${bucket}`)
}

function namesBuckets(condition: StreamCondition): boolean {
  return condition.column === 'bucket' && (condition.kind === 'in' || condition.operator === '=')
}
