import { type Sql, sql } from '../../../../database/sql.ts'
import type { ListPlan, RankingPlan } from '../plan/list.ts'
import { searchedColumns } from '../plan/search-vector.ts'
import { computedValues } from './computed.ts'
import { neededColumns, relationName } from './record.ts'
import { compileConditions, compileFrom, looksUpInChunks } from './rows.ts'

/**
 * The matches of a search that are ranked: as many as the limit says, of those that policies show the caller. A limit where
 * the index is asked, past the policies, would leave out rows of a caller who reads few.
 */

const [matches, ranked, own] = ['basalt matches', 'basalt ranked', 'basalt own'].map((name) =>
  sql.id(name),
) as [Sql, Sql, Sql]

/**
 * Rows of a caller that are compared with the query one by one, before the index is asked. More than these take longer than
 * the index where texts are long.
 */
const ownRowLimit = 100

/** The index is asked for this many times the limit first: of a common word it knows half of the table. */
const firstChunkFactor = 10

/** Queries for `with`. PostgreSQL reads their rows only as far as they are needed. */
export function compileRankedQueries(plan: ListPlan, ranking: RankingPlan, alias: string): readonly Sql[] {
  return [
    ...(usesOwnRows(plan, ranking) ? [compileOwnRows(plan)] : []),
    sql`${matches} as materialized (${compileMatches(plan, ranking, alias)})`,
    sql`${ranked} as materialized (select * from ${matches} limit ${sql.integer(ranking.limit)})`,
  ]
}

/** `from …`: the rows that are ranked, and of them those for which the conditions hold. */
export function compileFromRanked(alias: string, conditions: readonly Sql[]): Sql {
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return sql`from ${ranked} ${sql.id(alias)} ${where}`
}

/** Number of matches that are ranked. */
export function compileRankedCount(): Sql {
  return sql`(select count(*) from ${ranked})`
}

/** Returns whether there are more matches than are ranked. */
export function compileIsCut({ limit }: RankingPlan): Sql {
  return sql`exists (select from ${matches} offset ${sql.integer(limit)})`
}

function usesOwnRows({ rows }: ListPlan, { hasOwnRows }: RankingPlan): boolean {
  return hasOwnRows && looksUpInChunks(rows)
}

/** Without a condition of the request: which index finds the rows is for policies alone to say. */
function compileOwnRows({ rows }: ListPlan): Sql {
  return sql`${own} as materialized (
    select r.tableoid, r.ctid, r.xmin, r.* from ${relationName(rows.relation)} r limit ${sql.integer(ownRowLimit + 1)})`
}

function compileMatches(plan: ListPlan, ranking: RankingPlan, alias: string): Sql {
  const { rows } = plan
  const row = sql.id(alias)
  if (!looksUpInChunks(rows)) return compileWhole(plan, ranking, alias)
  const first = ranking.limit * firstChunkFactor
  const isMany = usesOwnRows(plan, ranking)
    ? [sql`(select count(*) from ${own}) > ${sql.integer(ownRowLimit)}`]
    : []
  const chunks = [
    { skipped: 0, most: first },
    { skipped: first, most: undefined },
  ].map((chunk) => sql`select ${row}.* ${compileFrom(rows, alias, isMany, chunk)}`)
  const few = isMany.map(
    (condition) => sql`
      select ${row}.* from ${own} ${row}
      where not (${condition}) and ${compileConditions(rows, alias)}`,
  )
  return sql.join([...few, ...chunks], sql` union all `)
}

/**
 * All that match, in the order in which they are stored. Scans of large tables begin where others are, and workers return
 * rows in any order, unless they are kept from it; then the next page would rank other rows.
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
  for (const { name, computed } of order) if (computed === undefined) names.add(name)
  const columns = [...names].map((name) => sql.id(alias, name))
  const isOrdered = sql`(select set_config('synchronize_seqscans', 'off', true)) = 'off'`
  return sql`select ${sql.join(columns)} ${compileFrom(rows, alias, [isOrdered])}`
}
