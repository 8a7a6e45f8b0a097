import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { matviewErrors } from './errors.ts'

/** Schema of a view that is named without one. */
export const defaultSchema = 'public'

/** State of a materialized view that decides how it can be refreshed. */
export interface ViewState {
  readonly isPopulated: boolean
  /** True if an index on columns alone and without a condition exists, which a concurrent refresh needs. */
  readonly hasUniqueIndex: boolean
}

/** Returns the state of a materialized view; undefined when none has that name. */
export async function findViewState(
  database: Queryable,
  schema: string,
  view: string,
): Promise<ViewState | undefined> {
  return await database.maybeOne<ViewState>(sql`
    select c.relispopulated as "isPopulated",
      exists (
        select from pg_index i
        where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
          and i.indexprs is null and i.indpred is null) as "hasUniqueIndex"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = ${view} and c.relkind = 'm'`)
}

/** @throws AppError invalid_identifier, not_materialized_view */
export async function requireMaterializedView(
  database: Queryable,
  schema: string,
  view: string,
): Promise<void> {
  const invalid = [schema, view].find((name) => !isIdentifier(name))
  if (invalid !== undefined) throw matviewErrors.invalidIdentifier(invalid)
  if ((await findViewState(database, schema, view)) === undefined) throw matviewErrors.notMaterializedView()
}

/** Returns whether a name is letters, digits and underscores. */
export function isIdentifier(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)
}
