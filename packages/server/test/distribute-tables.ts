import { quoteIdentifier, quoteLiteral } from '../src/database/sql.ts'
import type { TestDatabase } from './test-app.ts'

interface Table {
  /** Name with its schema, in quotes. */
  readonly name: string
  /** First column of the primary key, or of a table without one. */
  readonly column: string
  /** Names of the other tables that its foreign keys reference. */
  readonly references: readonly string[]
  readonly isReferenced: boolean
  /** Columns with an identity. */
  readonly identities: readonly string[]
}

/**
 * Puts the tables of a test on the workers. A table that no foreign key references is distributed by its first key column.
 * All others become reference tables, and those that Citus accepts in neither form remain on the coordinator.
 */
export async function distributeTables(sql: TestDatabase['sql']): Promise<void> {
  const remaining = await sql<Table & Record<string, unknown>>(`
    select format('%I.%I', nspname, relname) as name,
      (select attname from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
       order by attnum <> all (coalesce((select conkey[1:1] from pg_constraint where conrelid = c.oid and contype = 'p'), '{}')), attnum
       limit 1) as column,
      array(select distinct format('%I.%I', rn.nspname, r.relname) from pg_constraint f
        join pg_class r on r.oid = confrelid join pg_namespace rn on rn.oid = r.relnamespace
        where conrelid = c.oid and contype = 'f' and confrelid <> c.oid) as references,
      exists (select from pg_constraint where confrelid = c.oid and contype = 'f') as "isReferenced",
      array(select attname::text from pg_attribute where attrelid = c.oid and attidentity <> '') as identities
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p') and not relispartition and nspname !~ '^(pg_|basalt$|information_schema$|columnar|citus)'
      and not exists (select from pg_dist_partition where logicalrelid = c.oid)
    order by name`)
  while (remaining.length > 0) {
    const names = remaining.map(({ name }) => name)
    // A table is distributed after those that it references. Tables in a cycle follow in any order.
    const next = remaining.findIndex(({ references }) => !references.some((name) => names.includes(name)))
    const [table] = remaining.splice(Math.max(next, 0), 1)
    if (table !== undefined) await distribute(sql, table)
  }
}

async function distribute(sql: TestDatabase['sql'], table: Table): Promise<void> {
  const { name, column, isReferenced } = table
  const literal = quoteLiteral(name)
  const forms = [
    ...(isReferenced || column === null
      ? []
      : [`select create_distributed_table(${literal}, ${quoteLiteral(column)})`]),
    `select create_reference_table(${literal})`,
  ]
  for (const form of forms) {
    try {
      await sql(withoutIdentity(table) + form)
      return
    } catch {
      // The next form may be accepted.
    }
  }
}

/** Returns SQL that fills the columns with an identity from sequences: Citus accepts an identity for `bigint` only. */
function withoutIdentity({ name, identities }: Table): string {
  return identities
    .map((column) => {
      const sequence = quoteIdentifier(`${name} ${column}`)
      return `alter table ${name} alter ${quoteIdentifier(column)} drop identity;
        create sequence public.${sequence} as int;
        select setval('public.${sequence}', (select coalesce(max(${quoteIdentifier(column)}), 0) + 1 from ${name}), false);
        alter table ${name} alter ${quoteIdentifier(column)} set default nextval('public.${sequence}');
        alter sequence public.${sequence} owned by ${name}.${quoteIdentifier(column)};`
    })
    .join('')
}
