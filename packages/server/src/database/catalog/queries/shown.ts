import { type Sql, sql } from '../../sql.ts'

/** First object id that `initdb` does not use (access/transam.h, FirstNormalObjectId). */
export const firstUserOid: Sql = sql.integer(16384)

/** Our own relations of which a catalog is to know the policies: streams listen to them as to tables of the operator. */
const ofSystem = sql`to_regclass('basalt.objects')`

/** Whether a catalog shows the relation `c` of the schema `n`. */
export function isShown(schemas: readonly string[]): Sql {
  return sql`(n.nspname = any (${schemas}) or c.oid = ${ofSystem})`
}
