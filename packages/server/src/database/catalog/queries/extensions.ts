import { type Sql, sql } from '../../sql.ts'

export function extensionsQuery(): Sql {
  return sql`select extname as name, extversion as version from pg_extension order by extname`
}

export interface ExtensionRow {
  readonly name: string
  readonly version: string
}
