import { randomBytes } from 'node:crypto'
import { leaveChangedRows } from '../../../database/change-log.ts'
import type { StatementFailed } from '../../../database/message.ts'
import { Slot, type Sql, sql } from '../../../database/sql.ts'
import type { BatchRun } from '../plan/batch.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord, type RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statements.ts'
import { arrayLiteral } from './filter.ts'
import { compileSelectList, relationName } from './record.ts'
import { compileAssignments, compileColumnTypes, compileInsert } from './write.ts'

/** Alias of the collection's rows. */
const row = 't'

const bodiesSlot = new Slot('bodies')
const firstIndexSlot = new Slot('first index')
const countSlot = new Slot('count')

function keySlot(index: number): Slot {
  return new Slot(`key ${index}`)
}

/** What fills the slots of {@link compileRun}. */
export function runSlots({ relation, operations }: BatchRun): SlotValues {
  const keys = relation.primaryKey.map((_, index) => {
    const values = operations.map((operation) =>
      operation.method === 'create' ? null : (operation.id[index] ?? null),
    )
    return [keySlot(index).name, arrayLiteral(values)] as const
  })
  const bodies = operations.map((operation) => (operation.method === 'delete' ? '' : operation.body.json))
  return {
    [bodiesSlot.name]: `[${bodies.join(',')}]`,
    [firstIndexSlot.name]: String(operations[0]?.index ?? 0),
    [countSlot.name]: String(operations.length),
    ...Object.fromEntries(keys),
  }
}

/**
 * One run of a batch. Answers one row: the results of its operations as JSON, comma-separated in their order.
 * Fails, which undoes the batch, when an operation touched no row; {@link isRowMissing} recognizes that.
 */
export function compileRun(run: BatchRun, reader: Reader, isCaptured: boolean): Sql {
  return sql`
    with ${compileNumberedRows(run, planWholeRecord(run.relation, reader), isCaptured)}
    select string_agg('{"index":' || (n.place - 1 + ${firstIndexSlot}::int) || ${results[run.method]} || '}', ','
        order by n.place),
      (select (${missingMark} || count(*))::int from n having count(*) <> ${countSlot}::bigint)
      ${isCaptured ? sql`, ${leaveChangedRows(sql`json_agg(n.record order by n.place)`)}` : sql.empty}
    from n`
}

const results: Readonly<Record<BatchRun['method'], Sql>> = {
  create: sql`',"status":201,"body":' || n.record`,
  update: sql`',"status":200,"body":' || n.record`,
  delete: sql`',"status":204'`,
}

/** `n (record, place)`: the rows written, with the places of their operations in the run, from 1. */
function compileNumberedRows(run: BatchRun, record: RecordPlan, isCaptured: boolean): Sql {
  const { relation, columns } = run
  const list = compileSelectList(record, row)
  switch (run.method) {
    case 'create':
      return sql`
        w as (${compileInsert(relation, columns, bodiesSlot, { source: 'array', returning: list })}),
        n as (select row_to_json(w) as record, row_number() over () as place from w)`
    case 'update':
      return sql`n as (
        update ${relationName(relation)} as ${sql.id(row)}
        set ${compileAssignments(columns, 'b')}
        from rows from (${sql.join([...compileKeys(run), sql`json_array_elements(${bodiesSlot}::json)`])})
            with ordinality as o (${sql.join([...keyNames(run), sql`body`, sql`place`])})
          cross join lateral json_to_record(o.body) as b (${compileColumnTypes(columns)})
        where ${compileMatch(run)}
        returning (select row_to_json(s) from (select ${list}) s) as record, o.place
      )`
    case 'delete':
      return sql`n as (
        delete from ${relationName(relation)} as ${sql.id(row)}
        using rows from (${sql.join(compileKeys(run))})
          with ordinality as o (${sql.join([...keyNames(run), sql`place`])})
        where ${compileMatch(run)}
        returning ${isCaptured ? sql`(select row_to_json(s) from (select ${list}) s)` : sql`null::json`} as record,
          o.place
      )`
  }
}

/** Each key column's values of all operations as one array parameter of the column's type. */
function compileKeys({ relation }: BatchRun): Sql[] {
  return relation.primaryKey.map(
    (column, index) => sql`unnest(${keySlot(index)}::${sql.type(column.type.name)}[])`,
  )
}

function compileMatch(run: BatchRun): Sql {
  return sql.join(
    run.relation.primaryKey.map(({ name }, index) => sql`${sql.id(row, name)} = o.${keyName(index)}`),
    sql` and `,
  )
}

function keyNames({ relation }: BatchRun): Sql[] {
  return relation.primaryKey.map((_, index) => keyName(index))
}

function keyName(index: number): Sql {
  return sql.id(`k${index}`)
}

/** Nobody outside knows it, so no value sent by a caller can look like it. */
const missingToken = `missing ${randomBytes(9).toString('base64url')} `
const missingMark = sql.literal(missingToken)

/**
 * Whether the statement failed because it touched fewer rows than it had operations. Postgres has no statement
 * that fails on purpose, so {@link compileRun} casts a text of ours to a number.
 */
export function isRowMissing(failure: StatementFailed): boolean {
  return failure.error.code === '22P02' && failure.error.message.includes(missingToken)
}
