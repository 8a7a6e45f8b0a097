import { type Sql, sql } from '../../sql.ts'
import { anonymous, caller } from './caller.ts'
import { firstUserOid, isCataloged } from './cataloged.ts'

/**
 * Builds the query of a short text that changes with every definition of the catalog. It is a hash of the row
 * versions (`xmin`) of all catalog rows involved. VACUUM, ANALYZE and temporary tables do not change it.
 *
 * @param requireRls includes the relations that views read elsewhere, and their row-level security
 */
export function fingerprintQuery(schemas: readonly string[], requireRls = false): Sql {
  const elsewhere = sql`,
      (select bit_xor(hash_record_extended(row(oid, relrowsecurity, reloptions), 0)) from pg_class
       where oid >= ${firstUserOid} and relkind in ('r', 'p', 'v') and relnamespace not in (select oid from passing))`
  return sql`
    with exposed as (
      select c.oid, c.xmin
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where ${isCataloged(schemas)} and c.relkind in ('r', 'p', 'v', 'm', 'f')
    ), passing as (
      select oid from pg_namespace where nspname like 'pg\\_temp\\_%' or nspname like 'pg\\_toast%'
    )
    -- PostgreSQL expects ten elements of an array, and so uses an index. It expects more of the exposed relations, and
    -- would read all columns and indexes of the system's own ones.
    select concat_ws('/',
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from exposed),
      (select bit_xor(hash_record_extended(row(a.attrelid, a.attnum, a.xmin), 0))
       from pg_attribute a where a.attrelid = any (array(select oid from exposed)) and a.attnum > 0),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_attrdef where oid >= ${firstUserOid}),
      -- Our triggers are created and dropped with listeners, and are no definitions of the operator.
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_trigger
       where oid >= ${firstUserOid} and not tgisinternal and tgfoid not in (
         select oid from pg_proc where pronamespace = to_regnamespace('basalt')
       )),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_rewrite where oid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_cast where oid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(x.oid, x.xmin, i.xmin), 0))
       from pg_index i join pg_class x on x.oid = i.indexrelid
       where i.indrelid = any (array(select oid from exposed))),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_constraint
       where oid >= ${firstUserOid} and connamespace not in (select oid from passing)),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_policy),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_type
       where oid >= ${firstUserOid} and typnamespace not in (select oid from passing)),
      (select bit_xor(hash_record_extended(row(a.attrelid, a.attnum, a.xmin), 0))
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relkind = 'c' and c.oid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_enum),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_proc where oid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_operator where oid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_opclass where oid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(objoid, classoid, objsubid, xmin), 0))
       from pg_description where objoid >= ${firstUserOid}),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0)) from pg_extension),
      (select bit_xor(hash_record_extended(row(roleid, member, xmin), 0))
       from pg_auth_members
       where pg_has_role(${caller}, roleid, 'member') or (roleid <> ${anonymous} and pg_has_role(${anonymous}, roleid, 'member'))),
      (select bit_xor(hash_record_extended(row(oid, xmin), 0))
       from pg_namespace where oid not in (select oid from passing))${requireRls ? elsewhere : sql.empty}
    ) as fingerprint`
}

export interface FingerprintRow {
  readonly fingerprint: string
}
