import { type Sql, sql } from '../../../../database/sql.ts'
import type { RowCondition, RowsPlan } from '../plan/rows.ts'
import { compileFilter } from './filter.ts'
import { compileRowsAt, type LookupChunk } from './look-up.ts'
import { relationName } from './relation.ts'
import { compileMatch, compileSearchLookUp, isProvedByLookUp } from './search.ts'
import { compileSpatial, compileSpatialLookUp } from './spatial.ts'

/** Parts of {@link compileFrom} that not every statement has. */
export interface FromParts {
  readonly chunk?: LookupChunk
  /** Joins that keep every row once. */
  readonly joins?: Sql
}

/** Compiles `from relation alias where …`: the rows of the plan for which the further conditions hold, too. */
export function compileFrom(
  rows: RowsPlan,
  alias: string,
  further: readonly Sql[] = [],
  { chunk, joins = sql.empty }: FromParts = {},
): Sql {
  const name = relationName(rows.relation)
  const lookups = rows.conditions.flatMap((condition) => compileLookUp(condition, chunk) ?? [])
  const source = lookups.length === 0 ? sql`${name} ${sql.id(alias)}` : compileRowsAt(name, lookups, alias)
  const conditions = [
    ...rows.conditions.filter((each) => !isProved(each)).map((each) => compileCondition(each, alias)),
    ...further,
  ]
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return sql`from ${source} ${joins} ${where}`
}

/** Compiles the condition that all conditions hold for the row of the alias. */
export function compileConditions({ conditions }: RowsPlan, alias: string): Sql {
  if (conditions.length === 0) return sql`true`
  return sql.join(
    conditions.map((condition) => compileCondition(condition, alias)),
    sql` and `,
  )
}

function compileCondition(condition: RowCondition, alias: string): Sql {
  switch (condition.kind) {
    case 'filter':
      return compileFilter(condition.filter, alias)
    case 'search':
      return compileMatch(condition.search, alias)
    case 'spatial':
      return compileSpatial(condition.spatial, alias)
  }
}

/** Returns whether a single index lookup finds the rows, so that it can be split into chunks: {@link LookupChunk}. */
export function usesOneLookup({ conditions }: RowsPlan): boolean {
  const lookups = conditions.filter((condition) => compileLookUp(condition) !== undefined)
  return lookups.length === 1 && lookups.every(isProved)
}

function compileLookUp(condition: RowCondition, chunk?: LookupChunk): Sql | undefined {
  switch (condition.kind) {
    case 'filter':
      return undefined
    case 'search':
      return compileSearchLookUp(condition.search, chunk)
    case 'spatial':
      return compileSpatialLookUp(condition.spatial)
  }
}

/** Returns whether the condition holds for all rows of its lookup. */
function isProved(condition: RowCondition): boolean {
  return condition.kind === 'search' && isProvedByLookUp(condition.search)
}
