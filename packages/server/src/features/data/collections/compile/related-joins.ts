import { type Sql, sql } from '../../../../database/sql.ts'
import type { OrderKey } from '../plan/order.ts'
import type { RelatedJoin } from '../plan/related-column.ts'
import { compileReference, relationName } from './relation.ts'

/**
 * Compiles the joins of the related rows that the keys sort by; empty without any. They keep every row of the alias
 * once: a row whose related row is missing or hidden by policies sorts as NULL.
 */
export function compileJoins(order: readonly OrderKey[], alias: string): Sql {
  const joins = new Map(
    order.flatMap(({ related }) =>
      (related?.joins ?? []).map((join) => [aliasOf(join, alias), join] as const),
    ),
  )
  return sql.join(
    [...joins].map(([name, join]) => compileJoin(join, parentOf(join, alias), name)),
    sql` `,
  )
}

/** Compiles the column of a related row, which {@link compileJoins} has joined. */
export function compileRelated(joins: readonly RelatedJoin[], column: string, alias: string): Sql {
  const last = joins.at(-1)
  return sql.id(last === undefined ? alias : aliasOf(last, alias), column)
}

function compileJoin({ relationship, from, target }: RelatedJoin, parent: string, alias: string): Sql {
  const name = relationName(target)
  const reference = compileReference(from, relationship, target, parent, alias)
  // A foreign key references at most one row of a table, but its children have keys of their own.
  if (target.kind === 'table' && target.hasDescendants) {
    return sql`left join lateral (
      select ${sql.id(alias)}.* from ${name} ${sql.id(alias)} where ${reference} limit 1
    ) ${sql.id(alias)} on true`
  }
  return sql`left join ${name} ${sql.id(alias)} on ${reference}`
}

/** Returns the alias of a related row. It is short, because PostgreSQL truncates names of more than 63 bytes. */
function aliasOf({ positions }: Pick<RelatedJoin, 'positions'>, alias: string): string {
  return [alias, ...positions].join('.')
}

function parentOf({ positions }: RelatedJoin, alias: string): string {
  return aliasOf({ positions: positions.slice(0, -1) }, alias)
}
