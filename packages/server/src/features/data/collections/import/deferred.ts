import type { Relation } from '../../../../database/catalog/model.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileBodyTypes, compileBodyValue } from '../compile/body.ts'
import { compileComparison } from '../compile/comparison.ts'
import { staging } from './compile.ts'

/**
 * The rows at fault for a foreign key that failed when it was checked at the end, for which PostgreSQL names a key and no
 * row. Undefined for every other failure. As the login role: the check itself passes over policies and grants.
 */
export function compileBrokenRows(relation: Relation, { error }: StatementFailed): Sql | undefined {
  if (error.code !== '23503') return undefined
  const key = relation.foreignKeys.find(({ name }) => name === error.constraint)
  if (key === undefined) return undefined
  const columns = key.columns.flatMap((name) => relation.column.get(name) ?? [])
  const values = columns.map((column) => compileBodyValue(column, 'b'))
  const isSame = columns.map((column, index) =>
    compileComparison(
      column.type,
      sql.id('p', key.referencedColumns[index] ?? ''),
      '=',
      values[index] ?? sql.empty,
    ),
  )
  const isGiven = values.map((value) => sql`${value} is not null`)
  return sql`
    select i.ordinal
    from ${staging} i
    cross join lateral json_to_record(i.doc::json) as b (${compileBodyTypes(columns)})
    where ${sql.join(isGiven, sql` and `)} and not exists (
      select from ${sql.id(key.referencedSchema, key.referencedTable)} p where ${sql.join(isSame, sql` and `)})
    order by i.ordinal`
}
