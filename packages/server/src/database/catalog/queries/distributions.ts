import { type Sql, sql } from '../../sql.ts'

/** Builds the query of the tables that Citus spreads over its workers, or keeps on each of them (Citus, pg_dist_partition). */
export function distributionsQuery(): Sql {
  return sql`
    select logicalrelid::oid::int8 as oid from pg_dist_partition where partmethod <> 'n' or repmodel = 't'`
}

export interface DistributionRow {
  readonly oid: string
}
