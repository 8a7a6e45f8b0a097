import type { ColumnType, OwnOperator } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Operator } from '../parse/tokens.ts'

/**
 * Comparisons by the operators that sort the type. Those of pg_catalog are written by name alone. Others are written
 * with their schema: by name alone, PostgreSQL would miss them, or choose one of a type that the value can be
 * converted to.
 */

/** Compiles `left operator right`, where the type is that of one side; undefined for a system column. */
export function compileComparison(
  type: ColumnType | undefined,
  left: Sql,
  operator: Operator,
  right: Sql,
): Sql {
  const { plain, own, isNegated } = operators[operator]
  const found = own && type?.operators?.[own]
  if (found === undefined) return sql`${left} ${plain} ${right}`
  const comparison = sql`${left} ${sql.operator(...found)} ${right}`
  return isNegated ? sql`not (${comparison})` : comparison
}

interface Spelling {
  readonly plain: Sql
  /** Operator of the type. Undefined where the text operator of its conversion is right: ILIKE. */
  readonly own: OwnOperator | undefined
  /** True if the condition negates the type's own operator, whose negator need not have a name. */
  readonly isNegated: boolean
}

const operators: Readonly<Record<Operator, Spelling>> = {
  '=': { plain: sql`=`, own: '=', isNegated: false },
  '!=': { plain: sql`<>`, own: '=', isNegated: true },
  '>': { plain: sql`>`, own: '>', isNegated: false },
  '>=': { plain: sql`>=`, own: '>=', isNegated: false },
  '<': { plain: sql`<`, own: '<', isNegated: false },
  '<=': { plain: sql`<=`, own: '<=', isNegated: false },
  '~': { plain: sql`like`, own: '~~', isNegated: false },
  '!~': { plain: sql`not like`, own: '~~', isNegated: true },
  '~*': { plain: sql`ilike`, own: undefined, isNegated: false },
  '!~*': { plain: sql`not ilike`, own: undefined, isNegated: true },
}
