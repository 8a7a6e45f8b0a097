import { type Sql, sql } from '../../sql.ts'
import { isCataloged } from './cataloged.ts'
import { unlessLocked } from './exclusive-locks.ts'

export function indexesQuery(schemas: readonly string[]): Sql {
  return sql`
    select i.indrelid::int8 as relation_oid,
      x.relname as name,
      i.indisunique as is_unique,
      i.indisprimary as is_primary,
      i.indisvalid as is_valid,
      i.indpred is not null as is_partial,
      m.amname as method,
      i.indkey::int[] as columns,
      i.indnkeyatts::int as key_count,
      -- It proves rows distinct if it is complete, valid and not deferred to the commit. A key WITHOUT OVERLAPS
      -- (PostgreSQL 18) is an exclusion constraint, which cannot be inferred from columns.
      i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
        and not i.indisexclusion as is_key,
      ${unlessLocked(sql`i.indrelid`, sql`pg_get_indexdef(i.indexrelid)`)} as definition
    from pg_index i
    join pg_class x on x.oid = i.indexrelid
    join pg_am m on m.oid = x.relam
    join pg_class c on c.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace
    where ${isCataloged(schemas)}
    order by i.indrelid, x.relname`
}

export interface IndexRow {
  readonly relation_oid: string
  readonly name: string
  readonly is_unique: boolean
  readonly is_primary: boolean
  readonly is_valid: boolean
  readonly is_partial: boolean
  readonly method: string
  /** Column numbers, 0 for an expression; key columns first, then included ones. */
  readonly columns: number[]
  readonly key_count: number
  readonly is_key: boolean
  /** Null while the relation is locked. */
  readonly definition: string | null
}
