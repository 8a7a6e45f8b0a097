import { Type } from 'typebox'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { bearerSecurity, responses } from '../../../http/schemas.ts'

export const tableListSchema = {
  tags: ['admin'],
  summary: 'The tables and views that are served, with their estimated size and who can read them',
  security: bearerSecurity,
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          collection: Type.String(),
          kind: Type.String(),
          estimatedRows: Type.Union([Type.Integer(), Type.Null()], {
            description: "The database's estimate; null for views.",
          }),
          rlsEnabled: Type.Boolean(),
          policies: Type.Integer(),
          isReadable: Type.Boolean({ description: 'Whether signed-in users may read it at all.' }),
        }),
      ),
      count: Type.Integer(),
    }),
  }),
}

export interface TableSummary {
  readonly collection: string
  readonly kind: Relation['kind']
  readonly estimatedRows: number | null
  readonly rlsEnabled: boolean
  readonly policies: number
  readonly isReadable: boolean
}

export async function listTables(database: SystemDatabase, catalog: Catalog): Promise<TableSummary[]> {
  const rows = await estimateRows(database, catalog.schemas)
  const estimates = new Map(rows.map((row) => [`${row.schema}.${row.name}`, Number(row.rows)]))
  return [...catalog.relations.values()].map((relation) => ({
    collection: relation.collection,
    kind: relation.kind,
    estimatedRows: estimates.get(`${relation.schema}.${relation.name}`) ?? null,
    rlsEnabled: relation.rlsEnabled,
    policies: relation.policies.length,
    isReadable: relation.callers.select,
  }))
}

interface EstimateRow extends Record<string, unknown> {
  readonly schema: string
  readonly name: string
  readonly rows: string
}

/** What the planner believes, or, before the first ANALYZE, what was counted while rows were written. */
function estimateRows(database: SystemDatabase, schemas: readonly string[]): Promise<readonly EstimateRow[]> {
  return database.many<EstimateRow>(sql`
    with stored as (
      select
        oid,
        pg_partition_root(oid) as root,
        case when reltuples >= 0 then reltuples else pg_stat_get_live_tuples(oid) end as rows
      from pg_class
      where relkind in ('r', 'm')
    ), estimate as (
      select oid, rows from stored
      union all
      select root, sum(rows) from stored where root is not null group by root
    )
    select n.nspname as schema, c.relname as name, estimate.rows::bigint::text as rows
    from estimate
    join pg_class c on c.oid = estimate.oid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any(${schemas})`)
}
