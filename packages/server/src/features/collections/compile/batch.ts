import { randomBytes } from 'node:crypto'
import { leaveChangedRows } from '../../../database/change-log.ts'
import type { StatementFailed } from '../../../database/message.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { BatchOperation } from '../parse/batch.ts'
import type { BatchRun } from '../plan/batch.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord, type RecordPlan } from '../plan/record.ts'
import { arrayLiteral } from './filter.ts'
import { compileSelectList, relationName } from './record.ts'
import { compileAssignments, compileColumnTypes, compileInsert } from './write.ts'

/** Alias of the collection's rows. */
const row = 't'

/**
 * One run of a batch. Answers one row: the results of its operations as JSON, comma-separated in their order.
 * Fails, which undoes the batch, when an operation touched no row; {@link isRowMissing} recognizes that.
 */
export function compileRun(run: BatchRun, reader: Reader, isCaptured: boolean): Sql {
  const record = planWholeRecord(run.relation, reader)
  const firstIndex = String(run.operations[0]?.index ?? 0)
  const count = String(run.operations.length)
  return sql`
    with w as (${compileWrite(run, record, isCaptured)}),
      n as (select w.record, ${run.method === 'create' ? sql`row_number() over ()` : sql`w.place`} as place from w)
    select string_agg('{"index":' || (n.place - 1 + ${firstIndex}::int) || ${results[run.method]} || '}', ','
        order by n.place),
      (select (${missingMark} || count(*))::int from n having count(*) <> ${count}::bigint)
      ${isCaptured ? sql`, ${leaveChangedRows(sql`json_agg(n.record order by n.place)`)}` : sql.empty}
    from n`
}

const results: Readonly<Record<BatchOperation['method'], Sql>> = {
  create: sql`',"status":201,"body":' || n.record`,
  update: sql`',"status":200,"body":' || n.record`,
  delete: sql`',"status":204'`,
}

function compileWrite(run: BatchRun, record: RecordPlan, isCaptured: boolean): Sql {
  const { relation, columns, operations } = run
  const returned = sql`(select row_to_json(s) from (select ${compileSelectList(record, row)}) s) as record`
  const bodies = `[${operations.map((operation) => (operation.method === 'delete' ? '' : operation.body.json)).join(',')}]`
  switch (run.method) {
    case 'create':
      return compileInsert(relation, columns, bodies, { source: 'array', returning: returned })
    case 'update':
      return sql`
        update ${relationName(relation)} as ${sql.id(row)}
        set ${compileAssignments(columns, 'b')}
        from rows from (${sql.join([...compileKeys(run), sql`json_array_elements(${bodies}::json)`])})
            with ordinality as o (${sql.join([...keyNames(run), sql`body`, sql`place`])})
          cross join lateral json_to_record(o.body) as b (${compileColumnTypes(columns)})
        where ${compileMatch(run)}
        returning o.place, ${returned}`
    case 'delete':
      return sql`
        delete from ${relationName(relation)} as ${sql.id(row)}
        using rows from (${sql.join(compileKeys(run))})
          with ordinality as o (${sql.join([...keyNames(run), sql`place`])})
        where ${compileMatch(run)}
        returning o.place, ${isCaptured ? returned : sql`null::json as record`}`
  }
}

/** Each key column's values of all operations as one array parameter of the column's type. */
function compileKeys({ relation, operations }: BatchRun): Sql[] {
  return relation.primaryKey.map((column, index) => {
    const values = operations.map((operation) =>
      operation.method === 'create' ? null : (operation.id[index] ?? null),
    )
    return sql`unnest(${arrayLiteral(values)}::${sql.type(column.type.name)}[])`
  })
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
