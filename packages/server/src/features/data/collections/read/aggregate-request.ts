import type { Relation } from '../../../../database/catalog/model.ts'
import { compileAggregate } from '../compile/aggregate.ts'
import { collectionErrors } from '../errors.ts'
import type { AggregateListQuery } from '../parse/list-query.ts'
import { type AggregateResult, planAggregate } from '../plan/aggregate.ts'
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
  return {
    relations: relationsOfRows(rows),
    rows,
    isTimed: true,
    calls: [statements.call(compileAggregate(plan))],
    explain({ error }) {
      const isOutOfRange = rangeCodes.has(error.code ?? '') && summingRoutines.test(error.routine ?? '')
      return isOutOfRange && plan.results.some(isSummed)
        ? collectionErrors.invalidAggregate(`a sum is out of range: ${error.message}`).with({ cause: error })
        : undefined
    },
    format([answer]) {
      const [results = '[]', isExhaustive] = answer?.rows[0] ?? []
      return `{"results":${results}${isExhaustive === 'f' ? ',"exhaustive":false' : ''}}`
    },
  }
}

/** SQLSTATEs of numbers and intervals that are out of range. */
const rangeCodes = new Set(['22003', '22008'])

/** Routines of the types that can be summed. None of them parses text. */
const summingRoutines =
  /^(?:float_(?:over|under)flow|interval_|finite_interval|do_interval|cash_|numeric_|make_result)/

function isSummed({ function: name }: AggregateResult): boolean {
  return name === 'sum' || name === 'avg'
}
