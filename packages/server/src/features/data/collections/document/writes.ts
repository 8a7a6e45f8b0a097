import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Capture, isNotCaptured, withCapture } from '../../../../database/change-log.ts'
import { type Answer, StatementFailed } from '../../../../database/connection/message.ts'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import type { Collections } from '../collections.ts'
import { bulkSlots, readUnexpectedCount } from '../compile/bulk.ts'
import { compileInsertAll, insertAllSlots } from '../compile/insert-all.ts'
import { writeSlots } from '../compile/write.ts'
import { compileBulkStatement, compileUpsertStatement } from '../compile/write-statement.ts'
import { collectionErrors } from '../errors.ts'
import { explainFailure, type Work } from '../faults/explain.ts'
import { findHooks, type HookedWrite, passHooks, writeWithHooks } from '../hooks/pass-hooks.ts'
import type { TableHooks } from '../hooks/write-hooks.ts'
import { writeRowsWithHooks } from '../hooks/write-rows.ts'
import type { RecordBody } from '../parse/record-body.ts'
import { type BulkPlan, relationsOfBulk } from '../plan/bulk.ts'
import { planWholeRecord, type RecordPlan, relationsOf } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { readerOf, requireTables } from '../read/reading.ts'
import { fill } from '../statement-cache.ts'
import { findCapture } from '../write/capture.ts'
import { explainRefusal } from '../write/refusal.ts'

/** One of several writes that a document sends together, in order. */
export type DocumentWrite = InsertWrite | BulkWrite | WriteCall

export interface InsertWrite {
  readonly kind: 'insert'
  readonly relation: Relation
  readonly rows: readonly InsertedRow[]
  /** Record that the response has of each row; undefined: their number alone. */
  readonly answer: RecordPlan | undefined
}

export interface InsertedRow {
  readonly body: RecordBody
  /** Undefined: a record with the same key is an error. */
  readonly conflict: UpsertPlan | undefined
}

/** Update or delete of all records that a filter finds. */
export interface BulkWrite {
  readonly kind: 'bulk'
  readonly plan: BulkPlan
  /** Values of the columns that an update writes. */
  readonly body: RecordBody
}

/** Call of a function, whose feature compiles it and explains its failures. */
export interface WriteCall {
  readonly kind: 'call'
  /** Query of one JSON value, the only record of the result. */
  readonly query: Sql
  /** Relations that the selection of the result reads. */
  readonly relations: readonly Relation[]
  readonly explain: (
    collections: Collections,
    caller: Caller,
    failure: StatementFailed,
  ) => Promise<AppError | undefined>
}

export interface WriteResult {
  readonly count: number
  /** JSON text of each record in the response. */
  readonly records: readonly string[]
}

interface WriteStep {
  readonly step: Step
  /** Position of the write in the document. */
  readonly index: number
  /** Reads the result of the write; undefined for steps after it. */
  readonly read?: (answer: Answer | undefined) => StepResult
  readonly capture: Capture | undefined
  /** Subject of the statement, or the call that it makes. */
  readonly work: Work | WriteCall
}

interface StepResult {
  readonly count: number
  /** JSON array. */
  readonly records: string
}

const nothing: StepResult = { count: 0, records: '[]' }

/**
 * Runs the writes in one message and one transaction. Each sees what those before it have written; where one fails, none
 * is made.
 *
 * @param format makes the response, which is kept for an idempotency key
 * @throws AppError with the position of the failed write in the member `field`
 */
export async function runWrites<Result>(
  collections: Collections,
  caller: Caller,
  writes: readonly DocumentWrite[],
  format: (results: readonly WriteResult[]) => Result,
): Promise<Result> {
  for (const write of writes) requireTables(caller, relationsOfWrite(write))
  // They are found once: other functions may be loaded before the last write.
  const hooked = writes.map((write) => ({ write, hooks: findHooksOf(collections, write) }))
  if (hooked.some(({ hooks }) => hooks !== undefined)) {
    return await runHooked(collections, caller, hooked, format)
  }
  return await runTogether(
    collections,
    caller,
    writes.map((write, index) => ({ write, index })),
    format,
  )
}

/** Write with its position in the document. */
interface DocumentPart {
  readonly write: DocumentWrite
  readonly index: number
}

async function runTogether<Result>(
  collections: Collections,
  caller: Caller,
  placed: readonly DocumentPart[],
  format: (results: readonly WriteResult[]) => Result,
): Promise<Result> {
  const writes = placed.map(({ write }) => write)
  const compiled = placed.flatMap(({ write, index }) => compileSteps(collections, caller, write, index))
  const { scope, key, isAbandoned, origin, onPosition } = caller
  // Triggers record the writes of functions.
  const isRecorded =
    collections.isAudited ||
    compiled.some(({ capture }) => capture !== undefined) ||
    writes.some(({ kind }) => kind === 'call')
  const options = { isRead: false, isAbandoned, onPosition, origin: isRecorded ? origin?.() : undefined }
  const steps = compiled.map(({ step }) => step)
  const read = (answers: readonly Answer[]) => format(readResults(placed, compiled, answers))
  // Without a statement there is nothing to run.
  if (steps.length === 0) return read([])
  try {
    const result = await collections.writesOnce.run({ key, scope, steps, options }, read)
    compiled.find(({ capture }) => capture !== undefined)?.capture?.committed()
    return result
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    const failed = compiled[error.index]
    if (isNotCaptured(error)) {
      failed?.capture?.doubt()
      throw error
    }
    throw await explain(collections, caller, error, failed ?? compiled.at(-1))
  }
}

/** Returns the hooks that a write passes. */
function findHooksOf(collections: Collections, write: DocumentWrite): TableHooks | undefined {
  switch (write.kind) {
    case 'insert':
      return findHooks(collections, write.relation, ...(isUpsert(write) ? upsertActions : createActions))
    case 'bulk':
      return findHooks(collections, write.plan.rows.relation, write.plan.action)
    case 'call':
      return undefined
  }
}

const createActions = ['create'] as const
const upsertActions = ['create', 'update'] as const

/** Returns true if rows of the insert may update a record. */
function isUpsert({ rows }: InsertWrite): boolean {
  return rows.some(({ conflict }) => conflict?.action === 'update')
}

/** Runs the writes one after the other in one transaction, each after its hooks. */
async function runHooked<Result>(
  collections: Collections,
  caller: Caller,
  writes: readonly { readonly write: DocumentWrite; readonly hooks: TableHooks | undefined }[],
  format: (results: readonly WriteResult[]) => Result,
): Promise<Result> {
  const [only] = writes
  const isSingle = writes.length === 1 && only?.write.kind === 'insert'
  return await writeWithHooks(collections, caller, { isSingle }, async (hooked) => {
    const results: WriteResult[] = []
    for (const [index, { write, hooks }] of writes.entries()) {
      try {
        results.push(await runOne(hooked, hooks, write, index))
      } catch (error) {
        if (!(error instanceof AppError) || error.extras.members?.field !== undefined) throw error
        throw error.with({ members: { ...error.extras.members, field: index } })
      }
    }
    return format(results)
  })
}

async function runOne(
  hooked: HookedWrite,
  hooks: TableHooks | undefined,
  write: DocumentWrite,
  index: number,
): Promise<WriteResult> {
  const { collections, caller } = hooked
  if (hooks !== undefined && write.kind === 'bulk') {
    const { plan, body } = write
    const requireCount = (count: number) => {
      if (count > plan.limit) throw collectionErrors.bulkLimitExceeded(plan.limit)
    }
    return await writeRowsWithHooks(hooked, hooks, {
      catalog: collections.catalog.current,
      plan,
      body,
      requireCount,
    })
  }
  const changed =
    hooks !== undefined && write.kind === 'insert' ? await passHooksOfInsert(hooked, hooks, write) : write
  return await runTogether(collections, caller, [{ write: changed, index }], ([result]) => {
    return result ?? { count: 0, records: [] }
  })
}

async function passHooksOfInsert(
  hooked: HookedWrite,
  hooks: TableHooks,
  write: InsertWrite,
): Promise<InsertWrite> {
  const { relation, rows } = write
  const changes = rows.map(({ body, conflict }) => ({
    operation: conflict?.action === 'update' ? ('upsert' as const) : ('create' as const),
    body,
  }))
  const bodies = await passHooks(hooked, hooks, relation, changes)
  return {
    ...write,
    rows: rows.map(({ body, conflict }, position) => {
      const changed = bodies[position] ?? body
      return { body: changed, conflict: conflict && withAdded(conflict, body, changed) }
    }),
  }
}

/** Adds the columns of hooks to those that an upsert updates. */
function withAdded(plan: UpsertPlan, before: RecordBody, after: RecordBody): UpsertPlan {
  const isKept = (column: Column) => after.columns.includes(column) || plan.key.includes(column)
  const added = after.columns.filter(
    (column) =>
      !before.columns.includes(column) && !plan.key.includes(column) && column.identity !== 'always',
  )
  const updated = [...plan.updated.filter(isKept), ...added]
  return { ...plan, updated: updated.length === 0 ? plan.key : updated }
}

async function explain(
  collections: Collections,
  caller: Caller,
  failure: StatementFailed,
  step: WriteStep | undefined,
): Promise<unknown> {
  const found = readUnexpectedCount(failure)
  const error: AppError | undefined =
    found === undefined
      ? ((step && (await explainStep(collections, caller, failure, step))) ??
        translateDatabaseFailure(failure))
      : collectionErrors.bulkLimitExceeded(collections.bulkLimit)
  if (error === undefined) return failure
  return explainRefusal(error).with({ members: { field: step?.index ?? 0 } })
}

async function explainStep(
  collections: Collections,
  caller: Caller,
  failure: StatementFailed,
  { work }: WriteStep,
): Promise<AppError | undefined> {
  if ('kind' in work) return await work.explain(collections, caller, failure)
  return await explainFailure(collections, caller, failure, work)
}

function readResults(
  placed: readonly DocumentPart[],
  compiled: readonly WriteStep[],
  answers: readonly Answer[],
): readonly WriteResult[] {
  const results = placed.map((): { count: number; records: string[] } => ({ count: 0, records: [] }))
  const positions = new Map(placed.map(({ index }, at) => [index, at]))
  for (const [position, { index, read }] of compiled.entries()) {
    const { count, records } = read?.(answers[position]) ?? nothing
    const result = results[positions.get(index) ?? -1]
    if (result === undefined) continue
    result.count += count
    if (records !== '[]') result.records.push(records.trim().slice(1, -1))
  }
  return results
}

function relationsOfWrite(write: DocumentWrite): readonly Relation[] {
  if (write.kind === 'bulk') return relationsOfBulk(write.plan)
  if (write.kind === 'call') return write.relations
  return [write.relation, ...(write.answer === undefined ? [] : relationsOf(write.answer))]
}

function compileSteps(
  collections: Collections,
  caller: Caller,
  write: DocumentWrite,
  index: number,
): WriteStep[] {
  switch (write.kind) {
    case 'insert':
      return compileInsertSteps(collections, caller, write, index)
    case 'bulk':
      return compileBulkSteps(collections, caller, write, index)
    case 'call': {
      const step = collections.statements.call(sql`select (${write.query})::text`)
      const read = (answer: Answer | undefined) => ({
        count: 1,
        records: `[${answer?.rows[0]?.[0] ?? 'null'}]`,
      })
      return [{ step, index, read, capture: undefined, work: write }]
    }
  }
}

/** Compiles one statement for each run of rows with the same columns, and one for each row that may meet another. */
function compileInsertSteps(
  collections: Collections,
  caller: Caller,
  { relation, rows, answer }: InsertWrite,
  index: number,
): WriteStep[] {
  const { statements, changes } = collections
  const reader = readerOf(caller)
  const record = planWholeRecord(relation, reader)
  // Workers return the rows of one statement in any order.
  const groups = relation.isInShards ? rows.map(asGroup) : groupByColumns(rows)
  return groups.flatMap(({ columns, conflict, bodies }) => {
    const [json = ''] = bodies
    const relations = answer === undefined ? [relation] : relationsOf(answer)
    const work: Work = { action: 'write', relations, body: { json, columns } }
    if (conflict === undefined) {
      const capture = findCapture(changes, { relation, action: 'create', form: 'array', reader })
      const isCaptured = capture?.takesChanges === true
      const template = statements.template(compileInsertAll(record, columns, { isCaptured, answer }))
      return follow({ step: fill(template, insertAllSlots(bodies)), index, read: readCount, capture, work })
    }
    const capture = findCapture(changes, { relation, action: 'upsert', form: 'upsert', reader })
    const isCaptured = capture?.takesChanges === true
    const options = { isCaptured, requiresRow: false, answer }
    const template = statements.template(compileUpsertStatement(record, columns, conflict, options))
    const read = (found: Answer | undefined): StepResult => {
      const written = found?.rows[0]?.[0]
      return written == null ? nothing : { count: 1, records: answer === undefined ? '[]' : `[${written}]` }
    }
    return follow({ step: fill(template, writeSlots(json, [])), index, read, capture, work })
  })
}

interface InsertGroup {
  readonly columns: readonly Column[]
  readonly conflict: UpsertPlan | undefined
  readonly bodies: string[]
}

/** Groups neighbours with values for the same columns. No value stands for the default of a column. */
function groupByColumns(rows: readonly InsertedRow[]): readonly InsertGroup[] {
  const groups: InsertGroup[] = []
  for (const { body, conflict } of rows) {
    const last = groups.at(-1)
    const isSame =
      last !== undefined &&
      conflict === undefined &&
      last.conflict === undefined &&
      last.columns.length === body.columns.length &&
      last.columns.every((column, index) => column === body.columns[index])
    if (isSame) last.bodies.push(body.json)
    else groups.push(asGroup({ body, conflict }))
  }
  return groups
}

function asGroup({ body, conflict }: InsertedRow): InsertGroup {
  return { columns: body.columns, conflict, bodies: [body.json] }
}

function compileBulkSteps(
  { statements, changes }: Collections,
  caller: Caller,
  { plan, body }: BulkWrite,
  index: number,
): WriteStep[] {
  const { action, rows } = plan
  const reader = readerOf(caller)
  const capture = findCapture(changes, { relation: rows.relation, action, form: 'array', reader })
  const template = statements.template(compileBulkStatement(plan, capture?.takesChanges === true))
  const work: Work = {
    action: 'write',
    relations: relationsOfBulk(plan),
    rows,
    body: action === 'delete' ? undefined : body,
  }
  return follow({
    step: fill(template, bulkSlots(body.json, undefined)),
    index,
    read: readCount,
    capture,
    work,
  })
}

function follow(write: WriteStep): WriteStep[] {
  const { step, index, capture, work } = write
  const [, ...after] = withCapture(step, capture)
  return [write, ...after.map((each) => ({ step: each, index, capture, work }))]
}

function readCount(answer: Answer | undefined): StepResult {
  const [count, records] = answer?.rows[0] ?? []
  return { count: Number(count), records: records ?? '[]' }
}
