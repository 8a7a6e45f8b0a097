import { type Sql, sql } from '../../sql.ts'

/** First object id that `initdb` does not use (access/transam.h, FirstNormalObjectId). */
export const firstUserOid: Sql = sql.integer(16384)

/**
 * System relations whose policies a catalog contains. Streams subscribe to them as to tables of the operator.
 */
const ofSystem = sql`to_regclass('basalt.objects')`

/**
 * Condition that `c` is a view of Citus in the schema public. Citus lets everybody read the names and sizes of all
 * distributed tables there.
 */
const isOfCitus = sql`(
  c.relname in ('citus_tables', 'citus_schemas') and exists (
    select from pg_depend d
    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.objsubid = 0 and d.deptype = 'e'))`

/** Builds the condition that a catalog contains the relation `c` of the schema `n`. */
export function isCataloged(schemas: readonly string[]): Sql {
  return sql`((n.nspname = any (${schemas}) and not ${isOfCitus}) or c.oid = ${ofSystem})`
}
