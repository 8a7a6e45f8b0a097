import type { Relation } from '../../../../database/catalog/model.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import type { Caller } from '../access/caller.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { type AggregateListQuery, type ListQuery, parseListQuery } from '../parse/list-query.ts'
import { takeNearest } from '../parse/vector.ts'
import { planList } from '../plan/list.ts'
import { aggregateRequest } from './aggregate-request.ts'
import { hybridRequest } from './hybrid-request.ts'
import type { ListContext, ListRequest, QueryEmbedder } from './list-request.ts'
import { nearestRequest } from './nearest-request.ts'
import { pageRequest } from './page-request.ts'
import { noteSearch, type Reading, readerOf, requireTables, rowsKey, runRead } from './reading.ts'

/** A list, or the results of an aggregate, as JSON text. */
export interface ListAnswer {
  readonly body: string
  /** Of an aggregate: how long the database took. */
  readonly durationMs: number | undefined
}

export type AnswerList = (caller: Caller, collection: string, queryString: string) => Promise<ListAnswer>

/** @param embedder undefined when no provider of embeddings is configured */
export function createList(reading: Reading, embedder: QueryEmbedder | undefined): AnswerList {
  const { statements, withCatalog, searches, limits } = reading
  return (caller, collection, queryString) =>
    withCatalog(async (catalog) => {
      requireTable(caller.scope, collection)
      const reader = readerOf(caller)
      const { rest, nearest } = takeNearest(queryString)
      const request = statements.remember(catalog, rowsKey(reading, 'list', reader, collection, rest), () => {
        const relation = requireRelation(catalog, collection, reader)
        const context = { catalog, reader, searches, statements, embedder, limits }
        return planListRequest(context, relation, parseListQuery(rest))
      })
      requireTables(caller, request.relations)
      noteSearch(reading, request.rows)
      const calls = await request.calls(caller, nearest)
      const startedAt = performance.now()
      const answers = await runRead(reading, caller, request, calls, request.explain)
      const durationMs = request.isTimed === true ? Math.round(performance.now() - startedAt) : undefined
      return { body: request.format(answers), durationMs }
    })
}

function planListRequest(
  context: ListContext,
  relation: Relation,
  query: ListQuery | AggregateListQuery,
): ListRequest {
  if ('aggregate' in query) return aggregateRequest(context, relation, query)
  const { vector } = query
  if (vector === undefined) {
    const plan = planList(context, relation, query, context.limits)
    const planDirect = () => planList({ ...context, isDirect: true }, relation, query, context.limits)
    return pageRequest(plan, planDirect, context)
  }
  return vector.kind === 'hybrid'
    ? hybridRequest(context, relation, { ...query, vector })
    : nearestRequest(context, relation, { ...query, vector })
}
