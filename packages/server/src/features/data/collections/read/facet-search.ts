import { requireTable } from '../../../../http/access/grants.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { Type } from '../../../../lib/type.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { withCatalogOf } from '../access/viewer-catalog.ts'
import type { Collections } from '../collections.ts'
import { compileFacetSearch } from '../compile/facet-search.ts'
import { collectionPath, tableParams, viewing } from '../operation.ts'
import { parseFacetSearch } from '../parse/facet-search.ts'
import { planFacetSearch } from '../plan/facet-search.ts'
import { relationsOfRows } from '../plan/rows.ts'
import { facetSearchQuery } from '../query-schemas.ts'
import { requestOf } from '../request.ts'
import { markPrefix } from './mark-prefix.ts'
import { noteSearch, readerOf, requireTables, rowsKey, runRead } from './reading.ts'

/** Operation that finds the values of a column by their prefix, as people type it. */
export const searchFacet = operation({
  ...viewing,
  id: 'collections.searchFacet',
  method: 'GET',
  path: `${collectionPath}/facets/:column/search`,
  summary: 'Search the values of a text column',
  params: Type.Object({ ...tableParams.properties, column: Type.String() }),
  query: facetSearchQuery,
  success: ok(
    Type.Object({
      facetHits: Type.Array(
        Type.Object({
          value: Type.String(),
          highlighted: Type.String({ description: 'HTML; the searched text is in `<mark>`.' }),
          count: Type.Integer(),
        }),
      ),
      exhaustiveFacetsCount: Type.Boolean({
        description: 'True if there is no further value with this prefix.',
      }),
    }),
  ),
  handle(collections: Collections, { http, params: { column } }, reply) {
    const { caller, table, query } = requestOf(http, reply)
    return withCatalogOf(collections.catalog, caller, async (catalog) => {
      requireTable(caller.scope, table)
      const reader = readerOf(caller)
      const { statements, searches } = collections
      const { plan, call } = statements.remember(
        catalog,
        rowsKey(collections, 'facetSearch', reader, table, column, query),
        () => {
          const relation = requireRelation(catalog, table, reader)
          const context = { catalog, reader, searches }
          const plan = planFacetSearch(context, relation, column, parseFacetSearch(query))
          return { plan, call: statements.call(compileFacetSearch(plan)) }
        },
      )
      const relations = relationsOfRows(plan.rows)
      requireTables(caller, relations)
      noteSearch(collections, plan.rows)
      const [answer] = await runRead(collections, caller, { relations, rows: plan.rows }, [call])
      const [hits, isExhaustive] = answer?.rows[0] ?? []
      // The statement makes JSON of this form.
      const found = JSON.parse(hits ?? '[]') as { readonly value: string; readonly count: number }[]
      return {
        facetHits: found.map(({ value, count }) => ({
          value,
          highlighted: markPrefix(value, plan.prefix),
          count,
        })),
        exhaustiveFacetsCount: isExhaustive === 't',
      }
    })
  },
})
