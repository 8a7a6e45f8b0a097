import type { Relation } from '../../../../database/catalog/model.ts'
import { compileAggregate } from '../compile/aggregate.ts'
import { collectionErrors } from '../errors.ts'
import type { AggregateListQuery } from '../parse/list-query.ts'
import { planAggregate } from '../plan/aggregate.ts'
import { planRows, relationsOfRows } from '../plan/rows.ts'
import type { ListContext, ListRequest } from './list-request.ts'

/** @throws AppError aggregate_disabled, or naming the parameter */
export function aggregateRequest(
  context: ListContext,
  relation: Relation,
  query: AggregateListQuery,
): ListRequest {
  const { statements, limits, reader } = context
  if (!limits.aggregateEnabled) throw collectionErrors.aggregateDisabled()
  const rows = planRows(context, relation, query)
  const plan = planAggregate(rows, query.aggregate, reader, limits.maxGroups)
  const calls = [statements.call(compileAggregate(plan))]
  return {
    relations: relationsOfRows(rows),
    rows,
    isTimed: true,
    calls: () => calls,
    format([answer]) {
      const [results = '[]', isExhaustive] = answer?.rows[0] ?? []
      return `{"results":${results}${isExhaustive === 'f' ? ',"exhaustive":false' : ''}}`
    },
  }
}
