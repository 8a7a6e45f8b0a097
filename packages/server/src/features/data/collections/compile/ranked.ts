import { type Sql, sql } from '../../../../database/sql.ts'
import type { ListPlan, RankingPlan } from '../plan/list.ts'
import { isOwnColumn } from '../plan/order.ts'
import { searchedColumns } from '../plan/search-vector.ts'
import { computedValues } from './computed.ts'
import { neededColumns } from './record.ts'
import { relationName } from './relation.ts'
import { compileConditions, compileFrom, usesOneLookup } from './rows.ts'

/**
 * Ranked matches of a search: at most as many as the limit, of those that policies show the caller. The index lookup
 * bypasses the policies. A limit on it would leave out rows of a caller who may read few.
 */

const [matches, ranked, own] = ['basalt matches', 'basalt ranked', 'basalt own'].map((name) =>
  sql.id(name),
) as [Sql, Sql, Sql]

/**
 * Number of a caller's rows that are compared with the query one by one, before the index is used. More rows take
 * longer than the index where texts are long.
 */
const ownRowLimit = 100

/**
 * Factor between the limit and the size of the first index lookup: for a common word the index finds half of the
 * table.
 */
const firstChunkFactor = 10

/** Compiles queries for `with`. PostgreSQL reads their rows only as far as needed. */
export function compileRankedQueries(plan: ListPlan, ranking: RankingPlan, alias: string): readonly Sql[] {
  return [
    ...(usesOwnRows(plan, ranking) ? [compileOwnRows(plan)] : []),
    sql`${matches} as materialized (${compileMatches(plan, ranking, alias)})`,
    sql`${ranked} as materialized (select * from ${matches} limit ${sql.integer(ranking.limit)})`,
  ]
}

/** Compiles `from …`: the ranked rows for which the conditions hold. */
export function compileFromRanked(alias: string, conditions: readonly Sql[]): Sql {
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return sql`from ${ranked} ${sql.id(alias)} ${where}`
}

/** Compiles the number of ranked matches. */
export function compileRankedCount(): Sql {
  return sql`(select count(*) from ${ranked})`
}

/** Compiles whether there are more matches than are ranked. */
export function compileIsCut({ limit }: RankingPlan): Sql {
  return sql`exists (select 1 from ${matches} offset ${sql.integer(limit)})`
}

function usesOwnRows({ rows }: ListPlan, { hasOwnRows }: RankingPlan): boolean {
  return hasOwnRows && usesOneLookup(rows)
}

/**
 * Compiles the rows of the caller without a condition of the request, so that policies alone decide which index finds
 * the rows.
 */
function compileOwnRows({ rows }: ListPlan): Sql {
  return sql`${own} as materialized (
    select r.tableoid, r.ctid, r.xmin, r.* from ${relationName(rows.relation)} r limit ${sql.integer(ownRowLimit + 1)})`
}

function compileMatches(plan: ListPlan, ranking: RankingPlan, alias: string): Sql {
  const { rows } = plan
  const row = sql.id(alias)
  if (!usesOneLookup(rows)) return compileWhole(plan, ranking, alias)
  const first = ranking.limit * firstChunkFactor
  const isMany = usesOwnRows(plan, ranking)
    ? [sql`(select count(*) from ${own}) > ${sql.integer(ownRowLimit)}`]
    : []
  const chunks = [
    { skipped: 0, most: first },
    { skipped: first, most: undefined },
  ].map((chunk) => sql`select ${row}.* ${compileFrom(rows, alias, isMany, { chunk })}`)
  const few = isMany.map(
    (condition) => sql`
      select ${row}.* from ${own} ${row}
      where not (${condition}) and ${compileConditions(rows, alias)}`,
  )
  return sql.join([...few, ...chunks], sql` union all `)
}

/**
 * Compiles all matching rows in the order in which they are stored. Otherwise scans of large tables begin where
 * concurrent scans are, and workers return rows in any order; the next page would then rank other rows.
 */
function compileWhole(plan: ListPlan, { search }: RankingPlan, alias: string): Sql {
  const { record, rows, order } = plan
  const names = new Set(
    [
      ...neededColumns(record),
      ...computedValues(plan, alias).flatMap(({ columns }) => columns),
      ...searchedColumns(search.vector),
    ].map(({ name }) => name),
  )
  for (const key of order) if (isOwnColumn(key)) names.add(key.name)
  const columns = [...names].map((name) => sql.id(alias, name))
  const isOrdered = sql`(select set_config('synchronize_seqscans', 'off', true)) = 'off'`
  return sql`select ${sql.join(columns)} ${compileFrom(rows, alias, [isOrdered])}`
}
