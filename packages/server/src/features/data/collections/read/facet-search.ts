import { requireTable } from '../../../../http/access/grants.ts'
import type { Caller } from '../access/caller.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { compileFacetSearch } from '../compile/facet-search.ts'
import { parseFacetSearch } from '../parse/facet-search.ts'
import { planFacetSearch } from '../plan/facet-search.ts'
import { relationsOfRows } from '../plan/rows.ts'
import { markPrefix } from './mark-prefix.ts'
import { noteSearch, type Reading, readerOf, requireTables, rowsKey, runRead } from './reading.ts'

/** The values of a column that begin with a text, as people type it. */
export interface FacetSearchAnswer {
  readonly facetHits: readonly FacetHit[]
  /** Whether there are no others. */
  readonly exhaustiveFacetsCount: boolean
}

export interface FacetHit {
  readonly value: string
  /** HTML. */
  readonly highlighted: string
  readonly count: number
}

export type SearchFacet = (
  caller: Caller,
  collection: string,
  column: string,
  queryString: string,
) => Promise<FacetSearchAnswer>

export function createFacetSearch(reading: Reading): SearchFacet {
  const { statements, withCatalog, searches } = reading
  return (caller, collection, column, queryString) =>
    withCatalog(async (catalog) => {
      requireTable(caller.scope, collection)
      const reader = readerOf(caller)
      const { plan, call } = statements.remember(
        catalog,
        rowsKey(reading, 'facetSearch', reader, collection, column, queryString),
        () => {
          const relation = requireRelation(catalog, collection, reader)
          const planned = planFacetSearch(
            { catalog, reader, searches },
            relation,
            column,
            parseFacetSearch(queryString),
          )
          return { plan: planned, call: statements.call(compileFacetSearch(planned)) }
        },
      )
      const relations = relationsOfRows(plan.rows)
      requireTables(caller, relations)
      noteSearch(reading, plan.rows)
      const [answer] = await runRead(reading, caller, { relations, rows: plan.rows }, [call])
      const [hits, isExhaustive] = answer?.rows[0] ?? []
      // As the statement makes it.
      const found = JSON.parse(hits ?? '[]') as Pick<FacetHit, 'value' | 'count'>[]
      return {
        facetHits: found.map(({ value, count }) => ({
          value,
          highlighted: markPrefix(value, plan.prefix),
          count,
        })),
        exhaustiveFacetsCount: isExhaustive === 't',
      }
    })
}
