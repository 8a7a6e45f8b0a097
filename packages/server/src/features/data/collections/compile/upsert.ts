import type { Column } from '../../../../database/catalog/model.ts'
import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { compileBodyValue } from './body.ts'
import { compileComparison } from './comparison.ts'
import { compileSelectList } from './record.ts'
import { relationName } from './relation.ts'
import { failWithout } from './required-row.ts'
import { compileVersion, compileVersionMatch, type PreconditionForm } from './version.ts'
import { body, compileBoth, compileInsert, compileRowSource, compileTagged } from './write.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * Setting in which the statement notes that it found a record with the key: the old record, or that there was one.
 */
const conflictingSetting = sql.literal('basalt.conflicting_row')
const conflicting = sql`nullif(current_setting(${conflictingSetting}), '')`

export interface UpsertOptions {
  readonly isCaptured: boolean
  /**
   * True if a record must result. An update fails without one. A create that ignores conflicts leaves a note for
   * {@link compileGetConflicting}. `isRowMissing` recognizes the failure.
   */
  readonly requiresRow: boolean
  readonly answer?: RecordPlan | undefined
  /**
   * Condition on the record with the key. With `exists` and `version` the statement fails instead of creating a record. It
   * requires a row then.
   */
  readonly condition?: PreconditionForm
  /** True if the version of the record is the third column. */
  readonly isTagged?: boolean
}

/**
 * Compiles a create that updates the record with the same key. Returns one row: the record, and whether it was
 * created. Returns no row, or a row without a record, when the key was found and is to be ignored, or when a trigger
 * discarded the row.
 *
 * PostgreSQL evaluates the `where` of `do update` only on the row that it has found and locked. There the row before
 * the update can be read as it was, whatever other transactions do. (`xmax`, by which some distinguish an insert from
 * an update, cannot be read from a partitioned table.)
 */
export function compileUpsert(
  record: RecordPlan,
  columns: readonly Column[],
  plan: UpsertPlan,
  { isCaptured, requiresRow, answer, condition = 'none', isTagged = false }: UpsertOptions,
): Sql {
  const keys = sql.join(plan.key.map(({ name }) => sql.id(name)))
  const source = sql`${compileRowSource(body, columns)} where ${note(sql`''`)}`
  const list = isTagged
    ? sql`${compileBoth(record, answer)}, ${compileVersion(record, row)} as version`
    : compileBoth(record, answer)
  const version = (source: Sql) => (isTagged ? sql`, ${source}` : sql.empty)
  const found = isCaptured
    ? sql`(select row_to_json(s.*) from (select ${compileSelectList(record, row)}) s)::text`
    : sql`'found'`
  const action =
    plan.action === 'ignore'
      ? sql`do nothing`
      : sql`do update set ${sql.join(plan.updated.map(({ name }) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`))}
        where ${note(found)} ${condition === 'version' ? sql`and ${compileVersionMatch(record, row)}` : sql.empty}`
  const write = sql`${compileInsert(record.relation, columns, source)}
    on conflict (${keys}) ${action}
    returning ${list}`
  const returned = answer === undefined ? sql`w.record` : sql`w.answer`
  const required = (record: Sql) => {
    if (!requiresRow) return sql.empty
    if (condition !== 'none')
      return sql`, ${failWithout(sql`case when ${conflicting} is not null then ${record} end`)}`
    if (plan.action === 'update') return sql`, ${failWithout(record)}`
    return sql`, case when ${record} is not null then ${note(sql`'created'`)} end`
  }
  if (!isCaptured && !requiresRow) {
    return sql`with w as (${write}) select ${returned}, ${conflicting} is null ${version(sql`w.version`)} from w`
  }
  if (!isCaptured) {
    return sql`
      with w as (${write})
      select r.answer, r.created ${version(sql`r.version`)} ${required(sql`r.answer`)}
      from (select) one left join (
        select ${returned} as answer, ${conflicting} is null as created ${version(sql`w.version`)} from w
      ) r on true`
  }
  const change = changedRow(sql`w.record`, sql`${conflicting}::json`)
  const changes = sql`coalesce(json_agg(${change}), '[]')`
  return sql`
    with w as (${write})
    select c.answer, c.created ${version(sql`c.version`)} ${required(sql`c.answer`)}, ${leaveChanges(sql`c.changes`)}
    from (
      select (array_agg(${returned}))[1] as answer, ${conflicting} is null as created, ${changes} as changes
        ${version(sql`(array_agg(w.version))[1] as version`)}
      from w
    ) c`
}

/**
 * Compiles a read of the record with the key in the body: at most one row, whose first column is the record. Its version is the
 * second where it is tagged.
 *
 * @param options `requiresRow`: whether it fails when there is none, unless the preceding upsert has created one. An upsert that
 * is tagged does not require one.
 */
export function compileGetConflicting(
  record: RecordPlan,
  key: readonly Column[],
  { requiresRow, isTagged }: { readonly requiresRow: boolean; readonly isTagged: boolean },
): Sql {
  const condition = compileSameKey(key, row)
  if (isTagged) return sql`${compileTagged(record, condition)} limit 1`
  const found = sql`
    select row_to_json(r.*) as record
    from (
      select ${compileSelectList(record, row)}
      from ${relationName(record.relation)} ${sql.id(row)}
      where ${condition}
      limit 1
    ) r`
  if (!requiresRow) return found
  return sql`
    select f.record, case when ${conflicting} is null then ${failWithout(sql`f.record`)} end
    from (select) one left join (${found}) f on true`
}

/** Compiles the condition that the row of the alias has the key in the body. */
export function compileSameKey(key: readonly Column[], alias: string): Sql {
  const same = key.map((column) => {
    // As a separate value, an index can search for it.
    const value = sql`(select ${compileBodyValue(column, 'b')} from ${compileRowSource(body, [column])})`
    return compileComparison(column.type, sql.id(alias, column.name), '=', value)
  })
  return sql.join(same, sql` and `)
}

function note(what: Sql): Sql {
  return sql`set_config(${conflictingSetting}, ${what}, true) is not null`
}
