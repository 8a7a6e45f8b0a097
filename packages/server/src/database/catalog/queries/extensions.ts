import { type Sql, sql } from '../../sql.ts'

export function extensionsQuery(): Sql {
  return sql`
    select e.extname as name, e.extversion as version, n.nspname as schema
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    order by e.extname`
}

export interface ExtensionRow {
  readonly name: string
  readonly version: string
  readonly schema: string
}
