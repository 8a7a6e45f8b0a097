import { randomBytes } from 'node:crypto'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import { quoteIdentifier, Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import { compileSelectList } from './record.ts'
import { compileVersion } from './version.ts'
import { compileBoth, compileInsert, compileRowSource, type WriteOptions } from './write.ts'

const bodiesSlot = 'bodies'
const firstIndexSlot = 'first index'
const relationSlot = 'relation'

/** Returns the slot values of {@link compileCreates}. @param firstIndex ordinal of the first body in its batch */
export function createsSlots(bodies: readonly string[], firstIndex: number): SlotValues {
  return { [bodiesSlot]: `[${bodies.join(',')}]`, [firstIndexSlot]: String(firstIndex) }
}

interface CreatesOptions extends Pick<WriteOptions, 'isCaptured' | 'setsIdentity'> {
  readonly isTagged: boolean
}

/**
 * Compiles a statement that creates several records in order. Returns one row: their results as JSON,
 * comma-separated. Tagged results have the versions of the records as entity tags.
 */
export function compileCreates(
  record: RecordPlan,
  columns: readonly Column[],
  { isCaptured, isTagged, setsIdentity = false }: CreatesOptions,
): Sql {
  const source = compileRowSource(sql`json_to_recordset(${new Slot(bodiesSlot)}::json)`, columns)
  const list = isTagged
    ? sql`${compileBoth(record, undefined)}, ${compileVersion(record, 't')} as version`
    : compileSelectList(record, 't')
  return sql`
    with w as (
        ${compileInsert(record.relation, columns, source, { setsIdentity })}
        returning ${list}
      ),
      n as (select ${isTagged ? sql`w.*` : sql`row_to_json(w.*) as record`}, row_number() over () as ordinal from w)
    select string_agg(
        '{"index":' || (n.ordinal - 1 + ${new Slot(firstIndexSlot)}::int) || ',"status":201,"body":' || n.record ||
          ${isTagged ? sql`',"etag":' || to_json('"' || n.version || '"') || '}'` : sql`'}'`},
        ',' order by n.ordinal)
      ${isCaptured ? sql`, ${leaveChanges(sql`json_agg(${changedRow(sql`n.record`)} order by n.ordinal)`)}` : sql.empty}
    from n`
}

/** Returns the slot values of {@link mergeCheck}. */
export function relationSlots({ schema, name }: Relation): SlotValues {
  return { [relationSlot]: `${quoteIdentifier(schema)}.${quoteIdentifier(name)}` }
}

const familyOids = sql`(select oids from family)::oid[]`

const refusedToken = `not merged ${randomBytes(9).toString('base64url')} `

/**
 * Statement that fails when merging creates into one statement could give another result than one statement each.
 * {@link isMergeRefused} recognizes the failure. Creates cannot be merged where
 * - triggers or rules run, some of them once per statement or after all of its rows (those of the audit and of the
 *   change log do not matter),
 * - a foreign key leads back to the table, since it is checked after all rows of a statement,
 * - a policy reads a table, or a policy, default or check calls a function that is not volatile. Such queries do not
 *   see the earlier rows of their statement, so a limit on the number of rows would not hold.
 *
 * The check runs in the transaction of the rows each time, as no catalog snapshot would be recent enough.
 */
export const mergeCheck: Sql = sql`
  with target as (select ${new Slot(relationSlot)}::regclass::oid as oid),
    -- With all partitions of its tree. They are arrays, so that every lookup below uses an index.
    family as (
      select oid || array(select relid::oid from pg_partition_tree(pg_partition_root(oid))) as oids from target
    )
  select (${sql.literal(refusedToken)} || count(*))::int
  from target
  where exists (
      select
      from pg_trigger t
      join pg_proc p on p.oid = t.tgfoid
      where t.tgrelid = any (${familyOids}) and not t.tgisinternal
        and (
          p.pronamespace <> 'basalt'::regnamespace
          or p.proname not in ('audit_row', 'audit_inserts', 'audit_deletes')
            and not starts_with(p.proname, 'capture_')
        )
    )
    or exists (select from pg_rewrite where ev_class = any (${familyOids}))
    or exists (
      select from pg_constraint
      where conrelid = any (${familyOids}) and confrelid = any (${familyOids}) and contype = 'f'
    )
    or exists (
      -- A table in a subquery of a policy.
      select from pg_policy
      where polrelid = (select oid from target) and concat(polqual, polwithcheck) like '%:rtekind 0 %'
    )
    or exists (
      select
      from pg_depend d
      join pg_proc p on p.oid = d.refobjid and p.provolatile <> 'v'
      where d.refclassid = 'pg_proc'::regclass and (
        d.classid = 'pg_policy'::regclass
          and d.objid = any (array(select oid from pg_policy where polrelid = (select oid from target)))
        or d.classid = 'pg_attrdef'::regclass
          and d.objid = any (array(select oid from pg_attrdef where adrelid = any (${familyOids})))
        or d.classid = 'pg_constraint'::regclass
          and d.objid = any (array(select oid from pg_constraint where conrelid = any (${familyOids})))
      )
    )
  having count(*) > 0`

export function isMergeRefused(failure: StatementFailed): boolean {
  return failure.error.code === '22P02' && failure.error.message.includes(refusedToken)
}
