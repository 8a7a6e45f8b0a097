import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import type { FacetSearchQuery } from '../parse/facet-search.ts'
import { requireColumn } from './references.ts'
import { type PlanContext, planRows, type RowsPlan } from './rows.ts'

/** Search for the values of a text column that begin with a prefix, counted over rows. */
export interface FacetSearchPlan {
  readonly rows: RowsPlan
  readonly column: Column
  readonly prefix: string
  /** True if the prefix `apf` also finds Äpfel. */
  readonly ignoresAccents: boolean
  readonly maxHits: number
}

/** @throws AppError naming the parameter */
export function planFacetSearch(
  context: PlanContext,
  relation: Relation,
  name: string,
  query: FacetSearchQuery,
): FacetSearchPlan {
  const column = requireColumn(relation, name, 'facets parameter', context.reader)
  if (!column.type.isText) throw collectionErrors.unsupportedFacetSearch(name, column.typeName)
  const { ignoresAccents } = context.searches.settingsOf(relation)
  return {
    rows: planRows(context, relation, query),
    column,
    prefix: query.prefix,
    ignoresAccents,
    maxHits: query.maxHits,
  }
}
