import { type Sql, sql } from '../../sql.ts'

/**
 * Builds the query of the tables that Citus keeps in shards (Citus, pg_dist_partition). It spreads them over its workers or
 * keeps them on each of them. A local table with a foreign key to such a table has one shard on the coordinator.
 */
export function distributionsQuery(): Sql {
  return sql`
    select logicalrelid::oid::int8 as oid, partmethod <> 'n' or repmodel = 't' as is_on_workers from pg_dist_partition`
}

export interface DistributionRow {
  readonly oid: string
  readonly is_on_workers: boolean
}
