import type { Relation } from '../../../../database/catalog/model.ts'
import { quoteIdentifier, type Sql, sql } from '../../../../database/sql.ts'
import { describeColumn } from '../../schema/index.ts'

/** What a grid has to know of a table before it shows rows. */
export function describeTable(relation: Relation) {
  const { collection, schema, name, kind, comment, rlsEnabled, primaryKey } = relation
  return {
    ...{ table: collection, schema, name, kind },
    ...(comment === undefined ? {} : { comment }),
    rlsEnabled,
    policies: relation.policies.length,
    isWritable: kind === 'table' || kind === 'partitioned_table',
    primaryKey: primaryKey.map((column) => column.name),
    columns: relation.columns.map((column) => describeColumn(relation, column, 'administrator')),
    relations: [...relation.relationships.values()].map((relationship) => ({
      name: relationship.name,
      kind: relationship.kind,
      table: relationship.target,
      pairs: relationship.pairs,
      constraint: relationship.constraint,
    })),
    sorted: sortedColumns(relation),
  }
}

/** What rows can be sorted by without reading all of them. */
function sortedColumns({ indexes }: Relation): readonly string[] {
  const first = indexes.flatMap(({ isValid, method, columns }) =>
    isValid && method === 'btree' && columns?.[0] !== undefined ? [columns[0]] : [],
  )
  return [...new Set(first)]
}

/** Returns whether triggers log what plain SQL changes, while something listens. Only the owner of a table may make them. */
export function compileIsCaptured({ schema, name }: Relation): Sql {
  const table = sql.literal(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`)
  return sql`
    select not c.relispartition and pg_has_role(n.nspowner, c.relowner, 'usage')
    from pg_class c, pg_namespace n
    where c.oid = ${table}::regclass and n.nspname = 'basalt'`
}
