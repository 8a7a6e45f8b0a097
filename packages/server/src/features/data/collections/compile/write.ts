import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type ChangeAction,
  type ChangeForm,
  changedRow,
  leaveChanges,
} from '../../../../database/change-log.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import { compileBodyTypes, compileBodyValue } from './body.ts'
import { compileIdentity, compileSameRow, identitySlots, keyOf } from './identity.ts'
import { compileSelectList } from './record.ts'
import { relationName } from './relation.ts'
import { compileDiscarded, failWithout } from './required-row.ts'
import { compileVersion, compileVersionMatch } from './version.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Returns the slot values of the statements below: the body of the request, and the values of the primary key. */
export function writeSlots(json: string, id: readonly string[]): SlotValues {
  return { json, ...identitySlots(id) }
}

const jsonSlot = new Slot('json')

/**
 * Compiles a read of one record: at most one row, the record as JSON and its version. A table that Citus keeps in
 * shards has no versions.
 */
export function compileGet(record: RecordPlan): Sql {
  const { relation } = record
  if (!relation.isInShards) return compileTagged(record, compileIdentity(relation, row))
  return sql`
    select row_to_json(r.*), null
    from (
      select ${compileSelectList(record, row)}
      from ${relationName(relation)} ${sql.id(row)}
      where ${compileIdentity(relation, row)}
    ) r`
}

/** Compiles a read of the record that meets the condition, with its version. */
export function compileTagged(record: RecordPlan, condition: Sql): Sql {
  return sql`
    select row_to_json(r.*), ${compileVersion(record, row)}
    from ${relationName(record.relation)} ${sql.id(row)}, lateral (select ${compileSelectList(record, row)}) r
    where ${condition}`
}

export interface WriteOptions {
  /** True if the write stashes its change for a capturing call. */
  readonly isCaptured: boolean
  /** Form of the record that a create or update returns; undefined for the whole record. */
  readonly answer?: RecordPlan | undefined
  /** True if an update or delete affects only a row with one of the versions in the slot. */
  readonly comparesVersion?: boolean
  /** True if a create or update returns the version of the record as its second column. */
  readonly isTagged?: boolean
  /** True if a create accepts values for identity columns that PostgreSQL otherwise generates. */
  readonly setsIdentity?: boolean
}

/** Compiles the condition that the row of the alias is the one to write. */
function compileTarget(record: RecordPlan, alias: string, { comparesVersion }: WriteOptions): Sql {
  const identity = compileIdentity(record.relation, alias)
  return comparesVersion === true ? sql`${identity} and ${compileVersionMatch(record, alias)}` : identity
}

/**
 * Returns the form in which the statement of an action stashes its change. Where tables inherit, all but an insert
 * can affect several rows.
 */
export function changeForm(action: ChangeAction): ChangeForm {
  return action === 'create' ? 'record' : 'array'
}

/**
 * Compiles the statement of an action; `columns` are the written ones. The statement fails when it affects no row.
 * That undoes everything in its transaction, and the effects of triggers. {@link isRowMissing} recognizes the
 * failure.
 */
export function compileWrite(
  action: ChangeAction,
  record: RecordPlan,
  columns: readonly Column[],
  options: WriteOptions,
): Sql {
  switch (action) {
    case 'create':
      return compileCreate(record, columns, options)
    case 'update':
      return compileUpdate(record, columns, options)
    case 'delete':
      return compileDelete(record, options)
  }
}

/**
 * Compiles an insert of the JSON text's values for these columns. Other columns get their defaults. Returns the
 * record.
 */
function compileCreate(record: RecordPlan, columns: readonly Column[], options: WriteOptions): Sql {
  const written = { of: record.relation, action: 'create' } as const
  const insert = compileInsert(record.relation, columns, compileRowSource(body, columns), options)
  const { answer } = options
  if (options.isTagged !== true && (answer === undefined || !options.isCaptured)) {
    const write = sql`${insert} returning ${compileSelectList(answer ?? record, row)}`
    return compileAnswer({ ...written, write, record: wholeRow }, options)
  }
  const write = sql`${insert} returning ${compileReturned(record, options)}`
  return compileAnswer({ ...written, write, ...returnedOf(options) }, options)
}

/** Compiles an update of these columns of one record from the JSON text. Returns the record. */
function compileUpdate(record: RecordPlan, columns: readonly Column[], options: WriteOptions): Sql {
  const name = relationName(record.relation)
  const assignments = sql.join(
    columns.map((column) => sql`${sql.id(column.name)} = ${compileBodyValue(column, 'b')}`),
  )
  const source = compileRowSource(body, columns)
  const { answer } = options
  const written = { of: record.relation, action: 'update' } as const
  if (!options.isCaptured) {
    const list =
      options.isTagged === true ? compileReturned(record, options) : compileSelectList(answer ?? record, row)
    const write = sql`
      update ${name} as ${sql.id(row)}
      set ${assignments}
      from ${source}
      where ${compileTarget(record, row, options)}
      returning ${list}`
    const returned = options.isTagged === true ? returnedOf(options) : { record: wholeRow }
    return compileAnswer({ ...written, write, ...returned }, options)
  }
  const key = keyOf(record)
  // Because of the lock, the old record in the result is the one that is updated.
  const write = sql`
    update ${name} as ${sql.id(row)}
    set ${assignments}
    from ${source}, (
      select ${sql.join(key.map(({ name: each }) => sql.id('o', each)))},
        ${compileJson(compileSelectList(record, 'o'))} as ${sql.id(oldRecord)}
      from ${name} o
      where ${compileTarget(record, 'o', options)}
      for update
    ) o
    where ${compileSameRow(key, row, 'o')}
    returning ${compileReturned(record, options)}, ${sql.id('o', oldRecord)} as old_record`
  return compileAnswer({ ...written, write, ...returnedOf(options), oldRecord: sql`w.old_record` }, options)
}

/** Compiles a delete. It returns the record where the change is captured, else nothing of it. */
function compileDelete(record: RecordPlan, options: WriteOptions): Sql {
  const remove = sql`
    delete from ${relationName(record.relation)} as ${sql.id(row)}
    where ${compileTarget(record, row, options)}`
  const written = { of: record.relation, action: 'delete' } as const
  if (options.isCaptured) {
    const write = sql`${remove} returning ${compileSelectList(record, row)}`
    return compileAnswer({ ...written, write, record: wholeRow }, options)
  }
  return compileAnswer({ ...written, write: sql`${remove} returning 1`, record: sql`'null'::json` }, options)
}

const checkedBody = sql.literal('basalt.checked_body')

/** Statement that stores the body for the transaction: the body can be long, and is checked column by column. */
export const keepBody: Sql = sql`select set_config(${checkedBody}, ${jsonSlot}, true) is null`

/** Body of {@link keepBody}, for a `from`. */
export const checkedBodySource: Sql = sql`json_to_record(current_setting(${checkedBody})::json)`

/**
 * Compiles the conversion of a column's value in the body of {@link keepBody}, as a write does it. The result is
 * discarded.
 */
export function compileValueCheck({ version }: Relation, column: Column): Sql {
  return sql`${sql.version(version)}
    select ${compileBodyValue(column, 'b')}::${sql.type(column.typeName)}
    from ${compileRowSource(checkedBodySource, [column])}`
}

/** Body of the request, for a `from`. */
export const body = sql`json_to_record(${jsonSlot}::json)`

/** Compiles the insert of the rows `b` of its source, up to its `returning`. The inserted rows have the alias `t`. */
export function compileInsert(
  relation: Relation,
  columns: readonly Column[],
  source: Sql,
  { setsIdentity = false }: Pick<WriteOptions, 'setsIdentity'> = {},
): Sql {
  // A row of defaults is inserted for each source row.
  if (columns.length === 0) {
    return sql`insert into ${relationName(relation)} as ${sql.id(row)} select from ${source}`
  }
  return sql`
    insert into ${relationName(relation)} as ${sql.id(row)}
      (${sql.join(columns.map(({ name }) => sql.id(name)))})
    ${setsIdentity ? sql`overriding system value` : sql.empty}
    select ${sql.join(columns.map((column) => compileBodyValue(column, 'b')))}
    from ${source}`
}

/** Compiles JSON rows as an insert of these columns reads them. @param rows a function that returns records */
export function compileRowSource(rows: Sql, columns: readonly Column[]): Sql {
  return sql`${rows} as b (${compileBodyTypes(columns)})`
}

/**
 * Compiles the record as JSON, in the returned form unless it is captured. A captured record is followed by its returned form if
 * it has another one, and a tagged record by its version.
 */
function compileReturned(record: RecordPlan, { isCaptured, isTagged, answer }: WriteOptions): Sql {
  const list = isCaptured ? compileBoth(record, answer) : compileBoth(answer ?? record, undefined)
  return isTagged === true ? sql`${list}, ${compileVersion(record, row)} as version` : list
}

/** Returns the columns of {@link compileReturned}, from `w`. */
function returnedOf({ isCaptured, isTagged, answer }: WriteOptions) {
  return {
    record: sql`w.record`,
    answer: isCaptured && answer !== undefined ? sql`w.answer` : undefined,
    version: isTagged === true ? sql`w.version` : undefined,
  }
}

/** Compiles the record as JSON, and the returned record where that differs. */
export function compileBoth(record: RecordPlan, answer: RecordPlan | undefined): Sql {
  const whole = sql`${compileJson(compileSelectList(record, row))} as record`
  return answer === undefined
    ? whole
    : sql`${whole}, ${compileJson(compileSelectList(answer, row))} as answer`
}

/** Name of a column beside those of the collection. Columns do not have this name. */
export const oldRecord = 'basalt old record'

/**
 * Row `w` as the record, when it holds exactly the columns of the record. The star makes it the row even when a
 * column has the same name, here as everywhere.
 */
const wholeRow = sql`row_to_json(w.*)`

interface WriteStatement {
  readonly of: Relation
  readonly action: ChangeAction
  /** Write statement, which becomes `w`. */
  readonly write: Sql
  /** Record as JSON, from `w`. */
  readonly record: Sql
  /** Returned record, where it differs from the record. */
  readonly answer?: Sql | undefined
  /** Version of the record, where it is returned. */
  readonly version?: Sql | undefined
  /** Record before an update. */
  readonly oldRecord?: Sql
}

/**
 * Compiles a statement that returns one row: the record, and the version of a tagged one. Where tables inherit from the
 * collection, a write can affect more than one row; the first is returned.
 */
function compileAnswer(
  { of, action, write, record, answer, version, oldRecord: old }: WriteStatement,
  { isCaptured }: WriteOptions,
): Sql {
  // The row is made once, however often it is referenced.
  const touched = sql`(
    select ${record} as record, ${answer ?? sql`null`} as answer, ${old ?? sql`null`} as old_record
      ${version === undefined ? sql.empty : sql`, ${version} as version`}
    from w offset 0) t`
  const returned = answer === undefined ? sql`t.record` : sql`t.answer`
  const reason = compileDiscarded(of, action, row)
  if (isCaptured && changeForm(action) === 'array') {
    const rows = sql`json_agg(${changedRow(sql`t.record`, old && sql`t.old_record`)})`
    return sql`
      with w as (${write})
      select c.answer ${version === undefined ? sql.empty : sql`, c.version`}, ${failWithout(sql`c.answer`, reason)},
        ${leaveChanges(sql`c.changes`)}
      from (
        select (array_agg(${returned}))[1] as answer, ${rows} as changes
          ${version === undefined ? sql.empty : sql`, (array_agg(t.version))[1] as version`}
        from ${touched}) c`
  }
  return sql`
    with w as (${write})
    select ${returned} ${version === undefined ? sql.empty : sql`, t.version`}, ${failWithout(sql`t.record`, reason)}
      ${isCaptured ? sql`, ${leaveChanges(sql`t.record`)}` : sql.empty}
    from (select) one left join ${touched} on true
    limit 1`
}

/** Compiles a statement that locks the record and returns it as JSON, if it exists. */
export function compileLocked(record: RecordPlan): Sql {
  return sql`
    select ${compileJson(compileSelectList(record, row))}
    from ${relationName(record.relation)} ${sql.id(row)}
    where ${compileIdentity(record.relation, row)}
    for update`
}

/** Compiles a row of the select list as JSON. */
export function compileJson(list: Sql): Sql {
  return sql`(select row_to_json(s.*) from (select ${list}) s)`
}
