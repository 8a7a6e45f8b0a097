import { anonymousRole, callerRole } from '../caller/caller-scope.ts'
import type { Connection } from '../connection/connection.ts'
import { administratorRole } from '../logins/roles.ts'
import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'

/** Table with rows on every node that stores shards. Its content has no meaning. */
export const probeTable: Sql = sql.id('basalt', 'worker_probe')
const probeTableName = 'basalt.worker_probe'

/** Number of rows for each node. Their hashes reach every shard. */
const rowsPerNode = 64

/** Nodes that store shards, by their group (Citus, pg_dist_node). */
const storingGroups = sql`
  select coalesce(array_agg(groupid order by groupid), '{}') from pg_dist_node
  where noderole = 'primary' and isactive and shouldhaveshards`

/**
 * Creates the probe table, or creates it again where it does not have rows on every node. It remains empty where
 * no node stores shards, because nothing is distributed yet.
 */
export async function ensureProbeTable(transaction: Queryable): Promise<void> {
  const { nodes, covers } = await transaction.one<{ nodes: number; covers: boolean }>(sql`
    select to_regclass(${probeTableName}) is not null and covers as covers, nodes
    from (select cardinality((${storingGroups})) as nodes,
      (${storingGroups}) = array(
        select distinct p.groupid from pg_dist_shard s join pg_dist_placement p using (shardid)
        where s.logicalrelid = to_regclass(${probeTableName}) order by 1) as covers) found`)
  if (!covers) await createProbeTable(transaction, nodes)
  const roles = await transaction.many<{ rolname: string }>(sql`
    select rolname from pg_roles
    where rolname in (${callerRole}, ${anonymousRole}, ${administratorRole})
      and not has_table_privilege(oid, ${probeTableName}, 'select')`)
  for (const { rolname } of roles) {
    await transaction.count(sql`grant select on table ${probeTable} to ${sql.id(rolname)}`)
  }
}

async function createProbeTable(transaction: Queryable, nodes: number): Promise<void> {
  await transaction.count(sql`drop table if exists ${probeTable}`)
  await transaction.count(sql`create table ${probeTable} (id int primary key)`)
  if (nodes > 0) {
    await transaction.one(sql`
      select create_distributed_table(${probeTableName}, 'id', colocate_with => 'none', shard_count => ${nodes}::int)`)
    await transaction.count(sql`
      insert into ${probeTable} select generate_series(1, ${nodes * rowsPerNode}::int)`)
  }
}

/** Returns the number of nodes, other than the one of the session, that store shards. */
export async function countWorkers(connection: Connection): Promise<number> {
  const { rows } = await connection.query<{ count: number }>(sql`
    select count(*)::int as count from pg_dist_node
    where noderole = 'primary' and isactive and shouldhaveshards
      and groupid <> (select groupid from pg_dist_local_group)`)
  return rows[0]?.count ?? 0
}
