import type { Catalog, Column } from '../../../../database/catalog/model.ts'
import { withCapture } from '../../../../database/change-log.ts'
import { type Answer, StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { compileBodyValue } from '../compile/body.ts'
import { bulkSlots, compileChange } from '../compile/bulk.ts'
import { compileJsonValue } from '../compile/json-value.ts'
import { compileSelectList } from '../compile/record.ts'
import { relationName } from '../compile/relation.ts'
import { isRowMissing } from '../compile/required-row.ts'
import { compileConditions } from '../compile/rows.ts'
import {
  body as bodySource,
  changeForm,
  compileJson,
  compileRowSource,
  writeSlots,
} from '../compile/write.ts'
import { compileWriteStatement } from '../compile/write-statement.ts'
import { collectionErrors } from '../errors.ts'
import { explainFailure } from '../faults/explain.ts'
import type { RecordBody } from '../parse/record-body.ts'
import { type BulkPlan, relationsOfBulk } from '../plan/bulk.ts'
import { planWholeRecord } from '../plan/record.ts'
import { readerOf } from '../read/reading.ts'
import { fill } from '../statement-cache.ts'
import { findCapture } from '../write/capture.ts'
import { writeKey, writeOf } from '../write/writes.ts'
import { type HookedWrite, mayLock, passHooks } from './pass-hooks.ts'
import type { TableHooks } from './write-hooks.ts'

/** Alias of the rows. */
const row = 't'
/** Maximum number of writes in a message. */
const writesAtOnce = 500

export interface HookedRows {
  readonly catalog: Catalog
  readonly plan: BulkPlan
  readonly body: RecordBody
  /** Checks the number of rows that the filter finds, before the hooks run. @throws AppError */
  readonly requireCount: (count: number) => void
}

/** Row that a filter finds. */
interface FoundRow {
  readonly id: readonly string[]
  readonly record: string
  /** New values of the row, if they depend on its present ones. */
  readonly values: string | undefined
  /** Form of a deleted record in the response. */
  readonly answer: string | undefined
}

/**
 * Writes all records that match a filter, each after its hooks. The records are read and locked first, and written by their
 * primary keys.
 *
 * @returns the JSON texts of the records that the response has
 * @throws AppError no_primary_key
 */
export async function writeRowsWithHooks(
  write: HookedWrite,
  hooks: TableHooks,
  { catalog, plan, body, requireCount }: HookedRows,
): Promise<{ readonly count: number; readonly records: readonly string[] }> {
  const { relation } = plan.rows
  if (relation.primaryKey.length === 0) throw collectionErrors.noPrimaryKey()
  const rows = await findRows(write, plan, body)
  requireCount(rows.length)
  if (rows.length === 0) return { count: 0, records: [] }
  const { action } = plan
  const changes = rows.map(({ id, record, values }) => ({
    operation: action,
    id,
    previous: record,
    ...(action === 'delete'
      ? {}
      : { body: values === undefined ? body : { json: values, columns: body.columns } }),
  }))
  const bodies = await passHooks(write, hooks, relation, changes)
  const records: string[] = []
  for (let first = 0; first < rows.length; first += writesAtOnce) {
    const part = rows.slice(first, first + writesAtOnce).map((found, index) => ({
      ...found,
      body: bodies[first + index] ?? body,
    }))
    const written = await writeRows(write, catalog, plan, part)
    if (plan.answer !== undefined) records.push(...written)
  }
  return { count: rows.length, records }
}

async function findRows(
  { collections, caller, transaction }: HookedWrite,
  plan: BulkPlan,
  { json, columns }: RecordBody,
): Promise<readonly FoundRow[]> {
  const { relation } = plan.rows
  const { action, answer, limit, changes } = plan
  const reader = readerOf(caller)
  const maySelectForUpdate = action === 'update' || mayLock(relation, reader)
  const depends = changes !== undefined && changes.size > 0
  const keys = relation.primaryKey.map(({ name }) => sql`${sql.id(row, name)}::text`)
  const compile = (isLocked: boolean) => sql`
    select ${sql.join(keys)}, ${compileJson(compileSelectList(planWholeRecord(relation, reader), row))},
      ${depends ? compileValues(columns, changes) : sql`null`},
      ${action === 'delete' && answer !== undefined ? compileJson(compileSelectList(answer, row)) : sql`null`}
    from ${relationName(relation)} ${sql.id(row)} ${depends ? sql`cross join ${compileRowSource(bodySource, columns)}` : sql.empty}
    where ${compileConditions(plan.rows, row)}
    limit ${sql.integer(limit + 1)}
    ${isLocked ? sql`for update of ${sql.id(row)}` : sql.empty}`
  // Policies of updates hide rows from a locking read, also rows that may be deleted. These are read again.
  const reads = [...(maySelectForUpdate ? [true] : []), ...(action === 'delete' ? [false] : [])]
  const slots = bulkSlots(depends ? json : '{}', undefined)
  const answers = await transaction.run(
    reads.map((isLocked) => collections.statements.fill(compile(isLocked), slots)),
  )
  return (answers.at(-1)?.rows ?? []).map((cells) => {
    const id = cells.slice(0, keys.length).map((value) => value ?? '')
    const [record, values, returned] = cells.slice(keys.length)
    return { id, record: record ?? 'null', values: values ?? undefined, answer: returned ?? undefined }
  })
}

/** Compiles the values that an update leaves, as a JSON object. */
function compileValues(columns: readonly Column[], changes: NonNullable<BulkPlan['changes']>): Sql {
  const values = columns.map((column) => {
    const change = changes.get(column)
    const value = sql`(${compileChange(change, sql.id(row, column.name), compileBodyValue(column, 'b'))})`
    return sql`${compileJsonValue(column.type, value, 'v') ?? value} as ${sql.id(column.name)}`
  })
  return compileJson(sql.join(values))
}

/** Writes rows by their keys in one message. @returns the records of the response */
async function writeRows(
  { collections, caller, transaction }: HookedWrite,
  catalog: Catalog,
  plan: BulkPlan,
  rows: readonly (FoundRow & { readonly body: RecordBody })[],
): Promise<readonly string[]> {
  const { statements, changes } = collections
  const { relation } = plan.rows
  const { action, answer } = plan
  const reader = readerOf(caller)
  const capture = findCapture(changes, { relation, action, form: changeForm(action), reader })
  const isCaptured = capture?.takesChanges === true
  const compiled = rows.map(({ id, body }) => {
    const context = { catalog, caller, reader, shape: '' }
    const make = () =>
      statements.template(
        compileWriteStatement(action, planWholeRecord(relation, reader), body.columns, {
          isCaptured,
          ...(action === 'update' ? { answer } : {}),
        }),
      )
    // The form of the response is not a part of the key, so only the whole record is remembered.
    const template =
      answer === undefined
        ? statements.remember(
            catalog,
            writeKey(`hooked ${action} ${isCaptured}`, context, relation, body),
            make,
          )
        : make()
    return withCapture(fill(template, writeSlots(body.json, id)), capture)
  })
  let answers: readonly Answer[]
  try {
    answers = await transaction.run(compiled.flat())
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    const failed = rows[findWrite(compiled, error.index)]
    if (isRowMissing(error)) throw collectionErrors.recordNotFound(failed?.id.join())
    const work = writeOf(relationsOfBulk(plan), action === 'delete' ? undefined : failed?.body)
    throw (await explainFailure(collections, caller, error, work)) ?? error
  }
  capture?.committed()
  let position = 0
  return compiled.map((steps, index) => {
    const record = answers[position]?.rows[0]?.[0]
    position += steps.length
    return (action === 'delete' ? rows[index]?.answer : record) ?? 'null'
  })
}

/** Returns the index of the write that has the step at a position. */
function findWrite(compiled: readonly (readonly unknown[])[], position: number): number {
  let first = 0
  return compiled.findIndex((steps) => {
    first += steps.length
    return position < first
  })
}
