import { type Sql, sql } from '../../sql.ts'
import { isCataloged } from './cataloged.ts'
import { unlessLocked } from './exclusive-locks.ts'

/** Builds the query of primary key, unique, foreign key and check constraints. */
export function constraintsQuery(schemas: readonly string[]): Sql {
  return sql`
    select k.conname as name,
      k.contype as kind,
      k.conrelid::int8 as relation_oid,
      k.conkey::int[] as columns,
      k.confrelid::int8 as referenced_oid,
      k.confkey::int[] as referenced_columns,
      k.confupdtype as on_update,
      k.confdeltype as on_delete,
      ${unlessLocked(sql`k.conrelid`, sql`pg_get_constraintdef(k.oid)`)} as definition,
      -- It is a partition's copy of its parent's key.
      k.conparentid <> 0 as is_inherited,
      obj_description(k.oid, 'pg_constraint') as comment,
      -- A foreign key with PERIOD (PostgreSQL 18): a row refers to all those that cover its range together.
      k.contype = 'f' and coalesce(
        (select i.indisexclusion from pg_index i where i.indexrelid = k.conindid), false
      ) as has_period
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
    join pg_namespace n on n.oid = c.relnamespace
    where ${isCataloged(schemas)} and k.contype in ('p', 'u', 'f', 'c')
      -- A key that references a partitioned table has one more entry per partition it references.
      and not exists (
        select from pg_constraint parent where parent.oid = k.conparentid and parent.conrelid = k.conrelid
      )
    order by k.conrelid, k.conname`
}

export interface ConstraintRow {
  readonly name: string
  readonly kind: 'p' | 'u' | 'f' | 'c'
  readonly relation_oid: string
  readonly columns: number[] | null
  readonly referenced_oid: string
  readonly referenced_columns: number[] | null
  readonly on_update: string
  readonly on_delete: string
  /** Null while the relation is locked. */
  readonly definition: string | null
  readonly is_inherited: boolean
  readonly comment: string | null
  readonly has_period: boolean
}
