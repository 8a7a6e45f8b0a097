import type { Column, ForeignKey, Relation } from '../../../../database/catalog/model.ts'
import { type Answer, StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { compileBodyTypes, compileBodyValue } from '../compile/body.ts'
import { compileComparison } from '../compile/comparison.ts'
import type { StatementCache } from '../statement-cache.ts'
import { staging } from './compile.ts'

/** Reads past policies and grants, as the check of a foreign key does: places of keys, and nothing else. */
export type FindCommitted = (query: Sql) => Promise<readonly { readonly ordinal: number }[]>

interface DeferredCheck {
  readonly transaction: UserTransaction
  readonly statements: StatementCache
  readonly findCommitted: FindCommitted
}

/**
 * Finds the rows at fault for a foreign key that failed when it was checked at the end, for which PostgreSQL names a key
 * and no row: those whose key is neither committed nor a row that this transaction has made. Answers none for every other
 * failure. The transaction must be at a savepoint named `import_range`.
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
      // Whom the caller may not ask about its own rows, it did not make any of them.
      await transaction.run([rollback])
      return undefined
    }
  }
  const given = (await read(compileKeys(columns)))?.rows ?? []
  if (given.length === 0) return []
  const made = (await read(compileMade(key, columns)))?.rows ?? []
  const keys = columns.map((_, index) => given.map((row) => row[index + 1] ?? ''))
  const committed = await findCommitted(compileCommitted(key, columns, keys))
  const found = new Set([
    ...made.map(([ordinal]) => Number(ordinal)),
    ...committed.map(({ ordinal }) => Number(given[ordinal - 1]?.[0])),
  ])
  return given.map(([ordinal]) => Number(ordinal)).filter((ordinal) => !found.has(ordinal))
}

function compileRows(columns: readonly Column[]): Sql {
  const isGiven = columns.map((column) => sql`${compileBodyValue(column, 'b')} is not null`)
  return sql`
    from ${staging} i
    cross join lateral json_to_record(i.doc::json) as b (${compileBodyTypes(columns)})
    where ${sql.join(isGiven, sql` and `)}`
}

/** As the caller: the rows that have a key, and its values as texts. */
function compileKeys(columns: readonly Column[]): Sql {
  const values = columns.map((column) => sql`${compileBodyValue(column, 'b')}::text`)
  return sql`select i.ordinal, ${sql.join(values)} ${compileRows(columns)} order by i.ordinal`
}

/** As the caller: the rows whose key is visible, which those are that the import has made. */
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

/** Types whose text is read without code of the operator, so that an index finds the key. */
const plainTypes = new Set(['int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'uuid', 'date'])

/** Those of the keys that there are. No text of a caller is read as a type that has a condition. */
function compileCommitted(
  key: ForeignKey,
  columns: readonly Column[],
  keys: readonly (readonly string[])[],
): Sql {
  const names = columns.map((_, index) => sql.id(`k${index}`))
  const isSame = columns.map(({ type: { base } }, index) => {
    const referenced = sql.id('p', key.referencedColumns[index] ?? '')
    const given = sql`k.${names[index]}`
    return plainTypes.has(base)
      ? sql`${referenced} = ${given}::${sql.id('pg_catalog', base)}`
      : sql`${referenced}::text = ${given}`
  })
  return sql`
    select k.ordinal::float8 as ordinal
    from unnest(${sql.join(keys.map((values) => sql`${values}::text[]`))})
      with ordinality k (${sql.join(names)}, ordinal)
    where exists (
      select from ${sql.id(key.referencedSchema, key.referencedTable)} p where ${sql.join(isSame, sql` and `)})`
}
