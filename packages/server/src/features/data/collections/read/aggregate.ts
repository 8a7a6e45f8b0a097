import { asText, ok, operation } from '../../../../http/operation.ts'
import { component } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { Collections } from '../collections.ts'
import { collectionPath, tableParams, viewing } from '../operation.ts'
import { parseAggregateBody } from '../parse/list-body.ts'
import { readParameters } from '../parse/parameters.ts'
import { aggregateBody } from '../query-schemas.ts'
import { requestOf } from '../request.ts'
import { answerList } from './list.ts'

const AggregateResults = component(
  'AggregateResults',
  Type.Object({
    results: Type.Array(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'Columns of the group, and `count`, `sum_total` and the like.',
        },
      ),
    ),
    exhaustive: Type.Optional(
      Type.Boolean({
        description: '`false` when there are more groups than `groupLimit` or `api.max_groups`.',
      }),
    ),
  }),
)

export const aggregate = operation({
  ...viewing,
  id: 'collections.aggregate',
  method: 'POST',
  path: `${collectionPath}/aggregate`,
  summary: 'Compute figures over records',
  description:
    'Computes aggregates over the rows that match filter and search, with `group` for each combination of values. This is a read, also for programs that may only read. `X-Query-Duration-Ms` has the time that the database took.',
  params: tableParams,
  body: aggregateBody,
  success: asText(ok(AggregateResults)),
  async handle(collections: Collections, { http }, reply) {
    const request = requestOf(http, reply)
    readParameters(request.query, [])
    const query = parseAggregateBody(request.body)
    return await answerList(collections, { caller: request.caller, table: request.table, query }, reply)
  },
})
