import type { Relation } from '../../../../database/catalog/model.ts'
import { compileHybrid } from '../compile/hybrid.ts'
import { compileVectorSettings, vectorSlots } from '../compile/vector.ts'
import type { ListQuery } from '../parse/list-query.ts'
import type { VectorQuery } from '../parse/vector.ts'
import { planHybrid } from '../plan/hybrid.ts'
import { relationsOfList } from '../plan/list.ts'
import { fill } from '../statement-cache.ts'
import type { ListContext, ListRequest } from './list-request.ts'
import { requireEmbedder, vectorFinder } from './nearest-request.ts'

/** @throws AppError naming the parameter */
export function hybridRequest(
  context: ListContext,
  relation: Relation,
  query: ListQuery & { readonly vector: VectorQuery },
): ListRequest {
  const { statements, embedder } = context
  requireEmbedder(context, 'hybrid')
  const plan = planHybrid(context, relation, query)
  const { page, perPage, counts } = plan
  const findVector = vectorFinder(plan.vector, query.vector, embedder)
  const template = statements.template(compileHybrid(plan))
  const settings = compileVectorSettings(plan.vector, plan.legLimit)
  const before = settings === undefined ? [] : [statements.call(settings)]
  return {
    relations: relationsOfList({ record: plan.record, rows: plan.found }),
    rows: plan.found,
    calls: async (caller, nearest) => [
      ...before,
      fill(template, vectorSlots(await findVector(caller, nearest))),
    ],
    format(answers) {
      const [items = '[]', count] = answers.at(-1)?.rows[0] ?? []
      const totalItems = counts ? Number(count) : -1
      const totalPages = counts ? Math.ceil(totalItems / perPage) : -1
      return `{"page":${page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages},"items":${items}}`
    },
  }
}
