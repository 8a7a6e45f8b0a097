import type { Column, Relation } from '../../../database/catalog/model.ts'
import { leaveChangedRows } from '../../../database/change-log.ts'
import { Slot, type Sql, sql } from '../../../database/sql.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statements.ts'
import { compileSelectList, relationName } from './record.ts'

/** Alias of the collection's rows. */
const row = 't'

/** The slots of the statements below: the body of the request, and the values of the primary key. */
export function writeSlots(json: string, id: readonly string[]): SlotValues {
  return { json, ...Object.fromEntries(id.map((value, index) => [idSlot(index).name, value])) }
}

const jsonSlot = new Slot('json')

function idSlot(index: number): Slot {
  return new Slot(`id ${index}`)
}

/** At most one row with one column: the record as JSON. */
export function compileGet(record: RecordPlan): Sql {
  return sql`
    select row_to_json(r)
    from (
      select ${compileSelectList(record, row)}
      from ${relationName(record.relation)} ${sql.id(row)}
      where ${compileIdentity(record.relation)}
    ) r`
}

/** Inserts what the JSON text holds for these columns; the rest takes its defaults. Answers the record. */
export function compileCreate(record: RecordPlan, columns: readonly Column[], isCaptured: boolean): Sql {
  const returning = compileSelectList(record, row)
  return compileAnswer(
    compileInsert(record.relation, columns, jsonSlot, { source: 'record', returning }),
    isCaptured,
  )
}

/** Changes these columns of one record to what the JSON text holds. Answers the record. */
export function compileUpdate(record: RecordPlan, columns: readonly Column[], isCaptured: boolean): Sql {
  return compileAnswer(
    sql`
      update ${relationName(record.relation)} as ${sql.id(row)}
      set ${compileAssignments(columns, 'b')}
      from json_to_record(${jsonSlot}::json) as b (${compileColumnTypes(columns)})
      where ${compileIdentity(record.relation)}
      returning ${compileSelectList(record, row)}`,
    isCaptured,
  )
}

/** Answers nothing but the number of rows, unless somebody wants to know what was deleted. */
export function compileDelete(record: RecordPlan, isCaptured: boolean): Sql {
  const remove = sql`
    delete from ${relationName(record.relation)} as ${sql.id(row)}
    where ${compileIdentity(record.relation)}`
  if (!isCaptured) return remove
  return compileAnswer(sql`${remove} returning ${compileSelectList(record, row)}`, isCaptured)
}

function compileAnswer(write: Sql, isCaptured: boolean): Sql {
  const captured = isCaptured ? sql`, ${leaveChangedRows(sql`json_build_array(w)`)}` : sql.empty
  return sql`
    with w as (${write})
    select row_to_json(w)${captured} from w`
}

export interface InsertOptions {
  /** Whether the text is one record or a JSON array of them. */
  readonly source: 'record' | 'array'
  readonly returning: Sql
}

/** The insert itself; several records in the order of their array. The rows' alias is `t`. */
export function compileInsert(
  relation: Relation,
  columns: readonly Column[],
  json: string | Slot,
  { source, returning }: InsertOptions,
): Sql {
  return sql`
    insert into ${relationName(relation)} as ${sql.id(row)} (${sql.join(columns.map(({ name }) => sql.id(name)))})
    select ${sql.join(columns.map(({ name }) => sql.id('b', name)))}
    from ${source === 'record' ? sql`json_to_record` : sql`json_to_recordset`}(${json}::json)
      as b (${compileColumnTypes(columns)})
    returning ${returning}`
}

export function compileAssignments(columns: readonly Column[], source: string): Sql {
  return sql.join(columns.map(({ name }) => sql`${sql.id(name)} = ${sql.id(source, name)}`))
}

/** `"a" integer, "b" numeric`: only the columns that are written, so no other column's domain is asked. */
export function compileColumnTypes(columns: readonly Column[]): Sql {
  return sql.join(columns.map(({ name, type }) => sql`${sql.id(name)} ${sql.type(type.name)}`))
}

function compileIdentity(relation: Relation): Sql {
  return sql.join(
    relation.primaryKey.map((column, index) => sql`${sql.id(row, column.name)} = ${idSlot(index)}`),
    sql` and `,
  )
}
