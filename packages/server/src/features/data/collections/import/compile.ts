import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { changedRow, leaveChanges } from '../../../../database/change-log.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import { compileBodyTypes, compileBodyValue, lengthLimit } from '../compile/body.ts'
import { isJson, jsonNullMember } from '../compile/json-value.ts'
import { compileSelectList } from '../compile/record.ts'
import { relationName } from '../compile/relation.ts'
import { coordinatorRow } from '../compile/write-on-workers.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import type { ImportOptions } from './parameters.ts'

/** Temporary table that stages the rows for the time of a transaction. */
export const staging = sql.id('pg_temp', 'basalt_import')

/**
 * Statement that creates the staging table. It runs as the login role, which also fills the table. Callers only read
 * it and need no privilege to create tables.
 */
export const createStaging: Sql = sql`select basalt.create_import_staging()`

export const copyCommand = 'copy pg_temp.basalt_import (ordinal, column_set, doc) from stdin'

/** Statement that analyzes the staging table, as the login role. */
export const analyzeStaging: Sql = sql`select basalt.analyze_import_staging()`

const rowsSlot = new Slot('rows')

export function rowsSlots(rows: readonly number[]): SlotValues {
  return { [rowsSlot.name]: `{${rows.join()}}` }
}

/** Statement that removes rows from the staging table, as the login role. */
export const leaveOutRows: Sql = sql`delete from ${staging} where ordinal = any (${rowsSlot}::int[])`

const firstSlot = new Slot('first')
const lastSlot = new Slot('last')
const setSlot = new Slot('set')

/**
 * Returns the slot values of the statements below. Rows are counted from 1; the range includes `first` and `last`.
 */
export function rangeSlots(first: number, last: number, columnSet?: number): SlotValues {
  return {
    first: String(first),
    last: String(last),
    ...(columnSet === undefined ? {} : { set: String(columnSet) }),
  }
}

/** Query of the rows of a range and the ordinals of their column sets. */
export const rowsOfRange: Sql = sql`
  select ordinal, column_set
  from ${staging}
  where ordinal between ${firstSlot}::int and ${lastSlot}::int
  order by ordinal`

const updatedSetting = 'basalt.import_updated'
const oldRecordSetting = 'basalt.import_old_record'

/** Query of how many rows the transaction has updated rather than inserted so far. */
export const countUpdated: Sql = sql`
  select coalesce(nullif(current_setting(${sql.literal(updatedSetting)}, true), ''), '0')`

export interface InsertOptions extends Pick<ImportOptions, 'onConflict'> {
  readonly reader: Reader
  /** True if the statement stashes its changes for a capturing call. */
  readonly isCaptured: boolean
}

/**
 * Compiles an insert of those rows of a range that have this column set, with values converted as in a create.
 * Returns how many were inserted or updated. Like COPY it accepts values for identity columns (PostgreSQL, COPY,
 * Notes).
 *
 * @throws AppError where rows on workers are updated with a listener
 */
export function compileInsertRange(
  relation: Relation,
  columns: readonly Column[],
  { onConflict, reader, isCaptured }: InsertOptions,
): Sql {
  const record = planWholeRecord(relation, reader)
  const list = sql`(select row_to_json(s.*) from (select ${compileSelectList(record, 't')}) s)`
  const isUpserting = onConflict === 'update' && isCaptured
  const isCountedOnWorkers = onConflict === 'update' && relation.isInShards
  if (isCountedOnWorkers && isCaptured) {
    throw databaseErrors.unsupportedOnDistributedTable(
      'an import that updates records has no events with the records before it; update them by requests',
    )
  }
  const jsonNulls = relation.column.has(jsonNullMember) ? [] : columns.filter(isJson)
  const values = columns.map((column) =>
    jsonNulls.includes(column) ? compileJsonOrNull(column) : compileBodyValue(column, 'b'),
  )
  const types = sql`${compileBodyTypes(columns)}${jsonNulls.length === 0 ? sql.empty : sql`, ${sql.id(jsonNullMember)} jsonb`}`
  const target =
    columns.length === 0 ? sql.empty : sql`(${sql.join(columns.map(({ name }) => sql.id(name)))})`
  const insert = sql`
    insert into ${relationName(relation)} as t ${target}
    overriding system value
    select ${columns.length === 0 ? sql.empty : sql.join(values)}
    from ${staging} i
    cross join lateral json_to_record(i.doc::json) as b (${types})
    where i.column_set = ${setSlot}::int and i.ordinal between ${firstSlot}::int and ${lastSlot}::int
    order by ${compileInsertOrder(relation, columns, onConflict)}
    ${compileConflict(relation, columns, onConflict, isUpserting ? list : undefined)}
    returning ${isCaptured ? sql`${list} as record` : compileReturned(relation, reader)}
      ${isCountedOnWorkers ? sql`, t.xmax = 0 as ${isInserted}` : sql.empty}
      ${isUpserting ? sql`, ${takeOldRecord} as old_record, ${leaveOldRecord(sql`''`)} as none` : sql.empty}`
  if (isCountedOnWorkers) return compileCountOnWorkers(insert)
  if (!isCaptured) return sql`with w as (${insert}) select count(*) from w`
  const changes = isUpserting
    ? leaveChanges(compileArray(changedRow(sql`n.record`, sql`n.old_record::json`)))
    : leaveChanges(compileArray(sql`n.record`))
  return sql`
    with w as (${insert}), n as (select w.*, row_number() over () as ordinal from w)
    select count(*), ${changes} from n`
}

/** Name of a column beside those of the collection. Columns do not have this name. */
const isInserted = sql.id('basalt inserted')

/**
 * Compiles the count of an insert on workers, and of its updates. Citus accepts no function in the condition of
 * `do update`, so `xmax` distinguishes an update (PostgreSQL, System Columns). The setting is one of the coordinator.
 */
function compileCountOnWorkers(insert: Sql): Sql {
  return sql`
    with w as (${insert})
    select c.count, ${countUpdates(sql`c.updated`)}
    from ${coordinatorRow}
    cross join (select count(*) as count, count(*) filter (where not w.${isInserted}) as updated from w) c`
}

/** Compiles an addition to the number of updated rows. */
function countUpdates(added: Sql): Sql {
  const updated = sql.literal(updatedSetting)
  return sql`set_config(${updated},
    (coalesce(nullif(current_setting(${updated}, true), ''), '0')::int + ${added})::text, true) is not null`
}

/** Compiles a json column. A `null` of the body is NULL, unless the row names the column as one of JSON nulls. */
function compileJsonOrNull(column: Column): Sql {
  const isJsonNull = sql`${sql.id('b', jsonNullMember)} ? ${sql.literal(column.name)}`
  return sql`case when ${isJsonNull} then 'null'::${sql.type(column.type.name)} else ${compileBodyValue(column, 'b')} end`
}

function compileArray(change: Sql): Sql {
  return sql`coalesce(json_agg(${change} order by n.ordinal), '[]')`
}

/**
 * Compiles the order of the insert. Existing rows are locked in the order of their key, so that two imports do not
 * wait for each other.
 */
function compileInsertOrder(
  { primaryKey }: Relation,
  columns: readonly Column[],
  onConflict: ImportOptions['onConflict'],
): Sql {
  const hasKey = primaryKey.every((column) => columns.includes(column))
  if (onConflict === undefined || !hasKey) return sql`i.ordinal`
  return sql.join([...primaryKey.map((column) => compileBodyValue(column, 'b')), sql`i.ordinal`])
}

/** Compiles the `returning` clause. A returned row must be one that the caller may read, as that of a create. */
function compileReturned(relation: Relation, reader: Reader): Sql {
  const [column] = planWholeRecord(relation, reader).columns
  return column === undefined ? sql`1` : sql.id('t', column.name)
}

/**
 * Compiles the conflict clause. The condition of an update counts it, and leaves the row as it was. PostgreSQL
 * evaluates it once for each row to update.
 */
function compileConflict(
  { primaryKey, isInShards }: Relation,
  columns: readonly Column[],
  onConflict: ImportOptions['onConflict'],
  oldRecord: Sql | undefined,
): Sql {
  if (onConflict === undefined) return sql.empty
  const target = sql`on conflict (${sql.join(primaryKey.map(({ name }) => sql.id(name)))})`
  const changed = columns.filter((column) => !primaryKey.includes(column) && column.identity !== 'always')
  if (onConflict === 'skip' || changed.length === 0) return sql`${target} do nothing`
  const assignments = changed.map(({ name }) => sql`${sql.id(name)} = ${sql.id('excluded', name)}`)
  const leave =
    oldRecord === undefined ? sql.empty : sql`and ${leaveOldRecord(sql`${oldRecord}::text`)} is not null`
  const update = sql`${target} do update set ${sql.join(assignments)}`
  if (isInShards) return update
  return sql`${update} where ${countUpdates(sql`1`)} ${leave}`
}

const takeOldRecord = sql`nullif(current_setting(${sql.literal(oldRecordSetting)}, true), '')`

function leaveOldRecord(record: Sql): Sql {
  return sql`set_config(${sql.literal(oldRecordSetting)}, ${record}, true)`
}

/** Compiles one row, for a `from`, as an insert of these columns reads it. */
export function compileRowSourceOf(columns: readonly Column[]): Sql {
  return sql`(select doc from ${staging} where ordinal = ${firstSlot}::int) i
    cross join lateral json_to_record(i.doc::json) as b (${compileBodyTypes(columns)})`
}

/** Compiles the conversion of one column's value in a row. The result is discarded. */
export function compileValueCheck(column: Column): Sql {
  return sql`
    select ${compileBodyValue(column, 'b')}::${sql.type(column.typeName)}
    from ${compileRowSourceOf([column])}`
}

/** Compiles whether a text or the bits of a row are longer than the column accepts. A cast would truncate them. */
export function compileLengthCheck(column: Column): Sql | undefined {
  const limit = lengthLimit(column.typeName)
  if (limit === undefined) return undefined
  return sql`
    select ${sql.literal(column.name)}
    from ${staging} i
    cross join lateral json_to_record(i.doc::json) as b (${sql.id(column.name)} text)
    where i.ordinal = ${firstSlot}::int and char_length(${sql.id('b', column.name)}) > ${sql.integer(limit)}`
}
