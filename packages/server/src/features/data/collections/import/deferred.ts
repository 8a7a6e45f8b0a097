import type { Column, ForeignKey, Relation } from '../../../../database/catalog/model.ts'
import { type Answer, StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { compileBodyTypes, compileBodyValue } from '../compile/body.ts'
import { compileComparison } from '../compile/comparison.ts'
import type { StatementCache } from '../statement-cache.ts'
import { staging } from './compile.ts'

/**
 * Function that reads without policies and grants, as the check of a foreign key does: it returns positions of keys
 * and nothing else.
 */
export type FindCommitted = (query: Sql) => Promise<readonly { readonly ordinal: number }[]>

interface DeferredCheck {
  readonly transaction: UserTransaction
  readonly statements: StatementCache
  readonly findCommitted: FindCommitted
}

/**
 * Finds the rows at fault when a deferred foreign key check failed, for which PostgreSQL names a key and no row.
 * Their key is neither committed nor made by this transaction. Returns none for every other failure. The transaction
 * must be at a savepoint named `import_range`.
 */
export async function findBrokenRows(
  { transaction, statements, findCommitted }: DeferredCheck,
  relation: Relation,
  { error }: StatementFailed,
): Promise<readonly number[]> {
  const key = relation.foreignKeys.find(({ name }) => name === error.constraint)
  if (error.code !== '23503' || key === undefined) return []
  const columns = key.columns.flatMap((name) => relation.column.get(name) ?? [])
  const rollback = statements.call(sql`rollback to savepoint import_range`)
  const read = async (fragment: Sql): Promise<Answer | undefined> => {
    try {
      return (await transaction.run([rollback, statements.call(fragment)]))[1]
    } catch (failure) {
      if (!(failure instanceof StatementFailed)) throw failure
      // A caller who may not read its own rows did not make any of them.
      await transaction.run([rollback])
      return undefined
    }
  }
  const rows = (await read(compileKeys(columns)))?.rows ?? []
  if (rows.length === 0) return []
  const made = (await read(compileMade(key, columns)))?.rows ?? []
  const keys = columns.map((_, index) => rows.map((row) => row[index + 1] ?? ''))
  const committed = await findCommitted(compileCommitted(key, columns, keys))
  const found = new Set([
    ...made.map(([ordinal]) => Number(ordinal)),
    ...committed.map(({ ordinal }) => Number(rows[ordinal - 1]?.[0])),
  ])
  return rows.map(([ordinal]) => Number(ordinal)).filter((ordinal) => !found.has(ordinal))
}

function compileRows(columns: readonly Column[]): Sql {
  const isGiven = columns.map((column) => sql`${compileBodyValue(column, 'b')} is not null`)
  return sql`
    from ${staging} i
    cross join lateral json_to_record(i.doc::json) as b (${compileBodyTypes(columns)})
    where ${sql.join(isGiven, sql` and `)}`
}

/** Compiles a query of the rows that have a key, and of its values as texts. It runs as the caller. */
function compileKeys(columns: readonly Column[]): Sql {
  const values = columns.map((column) => sql`${compileBodyValue(column, 'b')}::text`)
  return sql`select i.ordinal, ${sql.join(values)} ${compileRows(columns)} order by i.ordinal`
}

/**
 * Compiles a query of the rows whose key is visible. These keys were made by the import. The query runs as the
 * caller.
 */
function compileMade(key: ForeignKey, columns: readonly Column[]): Sql {
  const isSame = columns.map((column, index) =>
    compileComparison(
      column.type,
      sql.id('p', key.referencedColumns[index] ?? ''),
      '=',
      compileBodyValue(column, 'b'),
    ),
  )
  return sql`
    select i.ordinal ${compileRows(columns)} and exists (
      select from ${sql.id(key.referencedSchema, key.referencedTable)} p where ${sql.join(isSame, sql` and `)})`
}

/** Types whose text is converted without operator-defined code, so that an index finds the key. */
const plainTypes = new Set(['int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'uuid', 'date'])

/** Compiles a query of the existing keys. No text of a caller is converted to a type that has a condition. */
function compileCommitted(
  key: ForeignKey,
  columns: readonly Column[],
  keys: readonly (readonly string[])[],
): Sql {
  const names = columns.map((_, index) => sql.id(`k${index}`))
  const isSame = columns.map(({ type: { base } }, index) => {
    const referenced = sql.id('p', key.referencedColumns[index] ?? '')
    const value = sql`k.${names[index]}`
    return plainTypes.has(base)
      ? sql`${referenced} = ${value}::${sql.id('pg_catalog', base)}`
      : sql`${referenced}::text = ${value}`
  })
  return sql`
    select k.ordinal::float8 as ordinal
    from unnest(${sql.join(keys.map((values) => sql`${values}::text[]`))})
      with ordinality k (${sql.join(names)}, ordinal)
    where exists (
      select from ${sql.id(key.referencedSchema, key.referencedTable)} p where ${sql.join(isSame, sql` and `)})`
}
