import { type Sql, sql } from '../../sql.ts'

/**
 * Builds the text of an expression on a relation. It is null while a transaction that changes the relation
 * locks it or waits for the lock. PostgreSQL locks a relation to name the columns in an expression on it, so
 * printing would wait for that transaction.
 *
 * @param relation its object id
 */
export function unlessLocked(relation: Sql, text: Sql): Sql {
  return sql`
    case when ${relation} not in (
      select relation from pg_locks where mode = 'AccessExclusiveLock' and relation is not null
    ) then ${text} end`
}
