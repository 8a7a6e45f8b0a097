import { type Sql, sql } from '../../sql.ts'

/** First object id that `initdb` does not use (access/transam.h, FirstNormalObjectId). */
export const firstUserOid: Sql = sql.integer(16384)

/**
 * System relations whose policies a catalog contains. Streams subscribe to them as to tables of the operator.
 */
const ofSystem = sql`to_regclass('basalt.objects')`

/** Builds the condition that a catalog contains the relation `c` of the schema `n`. */
export function isCataloged(schemas: readonly string[]): Sql {
  return sql`(n.nspname = any (${schemas}) or c.oid = ${ofSystem})`
}
