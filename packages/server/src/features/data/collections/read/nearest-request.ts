import type { Relation } from '../../../../database/catalog/model.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import { compileNearest } from '../compile/nearest.ts'
import { compileVectorSettings, vectorSlots } from '../compile/vector.ts'
import { collectionErrors } from '../errors.ts'
import type { ListQuery } from '../parse/list-query.ts'
import { denseVector, parseVectorValue, type VectorQuery } from '../parse/vector.ts'
import { relationsOfList } from '../plan/list.ts'
import { formatVector, planNearest, type VectorPlan } from '../plan/vector.ts'
import { fill } from '../statement-cache.ts'
import type { ListContext, ListRequest, QueryEmbedder, Spender } from './list-request.ts'

/** @throws AppError naming the parameter */
export function nearestRequest(
  context: ListContext,
  relation: Relation,
  query: ListQuery & { readonly vector: VectorQuery },
): ListRequest {
  const { statements, embedder } = context
  const source = query.vector
  if (source.kind === 'semantic') requireEmbedder(context, 'semantic')
  const plan = planNearest(context, relation, query)
  const findVector = vectorFinder(plan.vector, source, embedder)
  const template = statements.template(compileNearest(plan))
  const settings = compileVectorSettings(plan.vector, plan.limit)
  const before = settings === undefined ? [] : [statements.call(settings)]
  const callsWith = (vector: string) => [...before, fill(template, vectorSlots(vector))]
  return {
    relations: relationsOfList({ record: plan.record, rows: plan.rows }),
    rows: plan.rows,
    calls(caller, nearest) {
      const vector = findVector(caller, nearest)
      return typeof vector === 'string' ? callsWith(vector) : vector.then(callsWith)
    },
    format: (answers) => formatNearest(plan.limit, answers.at(-1)),
  }
}

/**
 * Returns a function that gives the vector of a request as pgvector reads it. The vector is what the client sent, or
 * what a provider makes of its text before a database connection is checked out.
 *
 * @throws AppError invalid_parameter, dimension_mismatch, semantic_misconfigured
 */
export function vectorFinder(
  plan: VectorPlan,
  source: VectorQuery,
  embedder: QueryEmbedder | undefined,
): (caller: Spender, nearest: string) => string | Promise<string> {
  if (source.kind === 'nearest') {
    return (_, nearest) => formatVector(plan, parseVectorValue(nearest))
  }
  const { column, dimensions } = plan
  const configured = embedder?.dimensions
  if (configured !== undefined && dimensions !== undefined && configured !== dimensions) {
    throw collectionErrors.semanticMisconfigured(
      `ai.embedding_dimensions says ${configured}, column "${column.name}" has ${dimensions}`,
    )
  }
  return async (caller) => {
    const values = (await embedder?.embed(source.text, caller.signal?.(), spenderOf(caller))) ?? []
    if (dimensions !== undefined && values.length !== dimensions) {
      throw collectionErrors.embeddingDimensionMismatch(values.length, column.name, dimensions)
    }
    // For a vector of zeros every distance is NaN and no row matches, which is the right response.
    return formatVector({ ...plan, metric: 'l2' }, denseVector(values))
  }
}

/**
 * Returns the key of the embedding quota: a user, with any credential; the app of a program without a user; or an
 * address.
 */
function spenderOf({ scope, origin }: Spender): string | undefined {
  if (scope.kind === 'unrestricted') return undefined
  const { appId = '', address = '' } = origin?.() ?? {}
  if (scope.kind === 'anonymous') return `address ${address}`
  return scope.userId === '' ? `app ${appId}` : scope.userId
}

/** @throws AppError semantic_not_configured, hybrid_not_configured, semantic_needs_pgvector, hybrid_needs_pgvector */
export function requireEmbedder(
  { catalog, embedder }: Pick<ListContext, 'catalog' | 'embedder'>,
  kind: 'semantic' | 'hybrid',
): void {
  const isHybrid = kind === 'hybrid'
  if (embedder === undefined) {
    throw isHybrid ? collectionErrors.hybridNotConfigured() : collectionErrors.semanticNotConfigured()
  }
  if (!catalog.extensions.has('vector')) {
    throw isHybrid ? collectionErrors.hybridNeedsPgvector() : collectionErrors.semanticNeedsPgvector()
  }
}

function formatNearest(limit: number, answer: Answer | undefined): string {
  const [items = '[]', count = '0'] = answer?.rows[0] ?? []
  return `{"page":1,"perPage":${limit},"totalItems":${count},"totalPages":1,"items":${items}}`
}
