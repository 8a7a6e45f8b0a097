import { type Sql, sql } from '../../../../database/sql.ts'
import type { FacetSearchPlan } from '../plan/facet-search.ts'
import { compileFrom } from './rows.ts'
import { compileFolded } from './search.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Compiles a facet search. Returns one row: the most frequent values with the prefix as a JSON array, and whether
 * these are all.
 */
export function compileFacetSearch(plan: FacetSearchPlan): Sql {
  const { rows, column, prefix, maxHits } = plan
  const value = sql.id(row, column.name)
  const text = compileFolded(plan, sql`${value}::text`)
  const pattern = compileFolded(plan, sql`${`${escapePattern(prefix)}%`}`)
  const isHit = prefix === '' ? sql`${value} is not null` : sql`${text} ilike ${pattern}`
  return sql`
    select coalesce(json_agg(r.hit) filter (where r.ordinal <= ${sql.integer(maxHits)}), '[]'),
      count(*) <= ${sql.integer(maxHits)}
    from (
      select row_to_json(f.*) as hit, row_number() over () as ordinal
      from (
        select ${value} as value, count(*) as count
        ${compileFrom(rows, row, [isHit])}
        group by ${value}
        order by count(*) desc, ${value}
        limit ${sql.integer(maxHits + 1)}
      ) f
    ) r`
}

/** Escapes a text so that LIKE matches it literally. */
function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
