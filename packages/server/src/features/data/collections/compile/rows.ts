import { type Sql, sql } from '../../../../database/sql.ts'
import type { RowCondition, RowsPlan } from '../plan/rows.ts'
import { compileFilter } from './filter.ts'
import { compileIsAt, compileRowsAt } from './look-up.ts'
import { relationName } from './record.ts'
import { compileMatch, compileSearchLookUp } from './search.ts'
import { compileSpatial, compileSpatialLookUp } from './spatial.ts'

/** `from relation alias where …`: the rows, and of them those for which the further conditions hold. */
export function compileFrom(rows: RowsPlan, alias: string, further: readonly Sql[] = []): Sql {
  const name = relationName(rows.relation)
  const lookUps = compileLookUps(rows)
  const source = lookUps.length === 0 ? sql`${name} ${sql.id(alias)}` : compileRowsAt(name, lookUps, alias)
  const conditions = [...compileEach(rows, alias), ...further]
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return sql`from ${source} ${where}`
}

/** Whether all conditions hold for the row of the alias, which is that of the relation. */
export function compileConditions(rows: RowsPlan, alias: string): Sql {
  const conditions = [...compileIsAt(compileLookUps(rows), alias), ...compileEach(rows, alias)]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}

function compileEach({ conditions }: RowsPlan, alias: string): readonly Sql[] {
  return conditions.flatMap((condition) => compileCondition(condition, alias) ?? [])
}

/** Undefined where the look-up of the condition has decided. */
function compileCondition(condition: RowCondition, alias: string): Sql | undefined {
  switch (condition.kind) {
    case 'filter':
      return compileFilter(condition.filter, alias)
    case 'search':
      return compileMatch(condition.search, alias)
    case 'spatial':
      return compileSpatial(condition.spatial, alias)
  }
}

function compileLookUps({ conditions }: RowsPlan): readonly Sql[] {
  return conditions.flatMap((condition) => compileLookUp(condition) ?? [])
}

function compileLookUp(condition: RowCondition): Sql | undefined {
  switch (condition.kind) {
    case 'filter':
      return undefined
    case 'search':
      return compileSearchLookUp(condition.search)
    case 'spatial':
      return compileSpatialLookUp(condition.spatial)
  }
}
