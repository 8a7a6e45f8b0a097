import type { FastifyReply } from 'fastify'
import type { Relation } from '../../../../database/catalog/model.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import { asText, ok, operation } from '../../../../http/operation.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { tagList } from '../access/representation.ts'
import { withCatalogOf } from '../access/viewer-catalog.ts'
import type { Collections } from '../collections.ts'
import { collectionPath, tableParams, viewing } from '../operation.ts'
import { parseListBody } from '../parse/list-body.ts'
import { type AggregateListQuery, type ListQuery, parseListQuery } from '../parse/list-query.ts'
import { readParameters } from '../parse/parameters.ts'
import { takeNearest } from '../parse/vector.ts'
import { planList } from '../plan/list.ts'
import { listBody, listQuery } from '../query-schemas.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { RecordPage } from '../schemas.ts'
import { aggregateRequest } from './aggregate-request.ts'
import { hybridRequest } from './hybrid-request.ts'
import type { ListContext, ListRequest } from './list-request.ts'
import { nearestRequest } from './nearest-request.ts'
import { pageRequest } from './page-request.ts'
import { noteSearch, readerOf, requireTables, rowsKey, runRead } from './reading.ts'

export const list = operation({
  ...viewing,
  id: 'collections.list',
  method: 'GET',
  path: collectionPath,
  summary: 'List records',
  description:
    'With read replicas, headers of a read choose the server: `X-Basalt-Position` of the response to a write requires its state; `X-Read-Consistency` is `eventual` (any replica) or `strong` (the primary).',
  params: tableParams,
  query: listQuery,
  success: asText(ok(RecordPage)),
  isConditional: true,
  async handle(collections: Collections, { http, identity }, reply) {
    const body = await answerList(collections, requestOf(http, reply), reply)
    tagList(reply, identity, body)
    return body
  },
})

export const query = operation({
  ...viewing,
  id: 'collections.query',
  method: 'POST',
  path: `${collectionPath}/query`,
  summary: 'List records, with the parameters in the body',
  params: tableParams,
  body: listBody,
  success: asText(ok(RecordPage)),
  async handle(collections: Collections, { http }, reply) {
    const request = requestOf(http, reply)
    readParameters(request.query, [])
    const query = parseListBody(request.body)
    return await answerList(collections, { caller: request.caller, table: request.table, query }, reply)
  },
})

/** Responds with a list, or the results of an aggregate. */
export async function answerList(
  collections: Collections,
  request: CollectionRequest,
  reply: FastifyReply,
): Promise<string> {
  const { body, durationMs } = await listRecords(collections, request)
  if (durationMs !== undefined) void reply.header('x-query-duration-ms', durationMs)
  return body
}

/** List, or the results of an aggregate, as JSON text. */
export interface ListAnswer {
  readonly body: string
  /** Time that the database took for an aggregate. */
  readonly durationMs: number | undefined
}

export function listRecords(
  collections: Collections,
  { caller, table, query = '' }: CollectionRequest,
): Promise<ListAnswer> {
  return withCatalogOf(collections.catalog, caller, async (catalog) => {
    requireTable(caller.scope, table)
    const reader = readerOf(caller)
    const { rest, nearest } = takeNearest(query)
    const { statements } = collections
    const request = statements.remember(catalog, rowsKey(collections, 'list', reader, table, rest), () => {
      const relation = requireRelation(catalog, table, reader)
      return planListRequest({ ...collections, catalog, reader }, relation, parseListQuery(rest))
    })
    requireTables(caller, request.relations)
    noteSearch(collections, request.rows)
    const { calls: made } = request
    const calls = typeof made === 'function' ? await made(caller, nearest) : made
    const startedAt = performance.now()
    const answers = await runRead(collections, caller, request, calls, request.explain)
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
