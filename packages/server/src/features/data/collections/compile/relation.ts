import type { Relation, Relationship } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileComparison } from './comparison.ts'

/** Returns the qualified name of a relation; the plan of the statement depends on its version and policies. */
export function relationName({ oid, schema, name, version, kind, rlsEnabled }: Relation): Sql {
  // A view may read tables with policies.
  const isRestricted = rlsEnabled || kind === 'view'
  return sql`${sql.version(version)}${sql.reads({ oid, isRestricted })}${sql.id(schema, name)}`
}

/**
 * Compiles the condition that the row of `parent`, from `relation`, and the row of `child`, from the target, are
 * related.
 */
export function compileReference(
  relation: Relation,
  { kind, pairs }: Relationship,
  target: Relation,
  parent: string,
  child: string,
): Sql {
  return sql.join(
    pairs.map(({ from, to }) => {
      // A foreign key compares as the column it references does.
      const referenced = kind === 'many-to-one' ? target.column.get(to) : relation.column.get(from)
      return compileComparison(referenced?.type, sql.id(child, to), '=', sql.id(parent, from))
    }),
    sql` and `,
  )
}
