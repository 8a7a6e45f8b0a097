import { type Sql, sql } from '../../../../database/sql.ts'
import type { RowCondition, RowsPlan } from '../plan/rows.ts'
import { compileFilter } from './filter.ts'
import { relationName } from './record.ts'
import { compileMatch } from './search.ts'
import { compileSpatial } from './spatial.ts'

/** `from relation alias where …`: the rows, and of them those for which the further conditions hold. */
export function compileFrom(rows: RowsPlan, alias: string, further: readonly Sql[] = []): Sql {
  const conditions = [...rows.conditions.map((condition) => compileCondition(condition, alias)), ...further]
  const where = conditions.length === 0 ? sql.empty : sql`where ${sql.join(conditions, sql` and `)}`
  return sql`from ${relationName(rows.relation)} ${sql.id(alias)} ${where}`
}

/** Whether all conditions hold for the row of the alias. */
export function compileConditions(rows: RowsPlan, alias: string): Sql {
  if (rows.conditions.length === 0) return sql`true`
  return sql.join(
    rows.conditions.map((condition) => compileCondition(condition, alias)),
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
