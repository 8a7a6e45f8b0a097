import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import {
  type Capture,
  type ChangeAction,
  isNotCaptured,
  withCapture,
} from '../../../../database/change-log.ts'
import { type Answer, type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import type { Caller } from '../access/caller.ts'
import { requireWritable } from '../access/catalog-access.ts'
import type { Precondition } from '../access/precondition.ts'
import type { VersionedRecord } from '../access/representation.ts'
import type { Collections } from '../collections.ts'
import { readUnexpectedCount } from '../compile/bulk.ts'
import { isRowMissing } from '../compile/required-row.ts'
import { formOf, preconditionSlots } from '../compile/version.ts'
import { changeForm, writeSlots } from '../compile/write.ts'
import { compileWriteStatement } from '../compile/write-statement.ts'
import { explainFailure, type Work } from '../faults/explain.ts'
import type { RecordBody } from '../parse/record-body.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord, type RecordPlan, relationsOf } from '../plan/record.ts'
import { readerOf, requireRecord } from '../read/reading.ts'
import { fill } from '../statement-cache.ts'
import { findCapture } from './capture.ts'
import { missingRow } from './missing-row.ts'
import { checkedWriteOf, runChecked } from './precondition.ts'

/** Caller of a write, and the context that its statements depend on. */
export interface WriteContext {
  readonly catalog: Catalog
  readonly caller: Caller
  readonly reader: Reader
  /** Part of the query string that the text of the statement depends on. */
  readonly shape: string
}

/** Write of one record. */
export interface RecordWrite {
  readonly action: ChangeAction
  readonly relation: Relation
  readonly body: RecordBody
  readonly id: readonly string[]
  /** Form of the returned record; undefined for the whole record. */
  readonly answer?: RecordPlan | undefined
  /** Condition on the record as it is. */
  readonly precondition?: Precondition | undefined
  /** True if the result has the version of the record. */
  readonly isTagged?: boolean
}

/** Write with its capture and the calls that follow. */
interface Run {
  readonly write: Call
  readonly capture: Capture | undefined
  readonly further?: readonly Call[]
}

/** Returns the record that a write returned, and its version if the write is tagged. */
export function readWritten(answer: Answer | undefined, isTagged: boolean): VersionedRecord {
  const version = isTagged ? (answer?.rows[0]?.[1] ?? undefined) : undefined
  return { record: requireRecord(answer), version }
}

export const nothingWritten: RecordBody = { json: '', columns: [] }

/**
 * Returns the table to write. The scope of the program is checked first, so that it does not learn which other tables
 * exist.
 *
 * @throws AppError insufficient_scope, and those of {@link requireWritable}
 */
export function requireWritableBy(caller: Caller, catalog: Catalog, collection: string): Relation {
  requireTable(caller.scope, collection)
  return requireWritable(catalog, collection, readerOf(caller))
}

/**
 * Runs the write, its capture and the further calls as one message.
 *
 * @param read receives the results of the write and of the further calls
 */
export async function runWrite<Result>(
  collections: Collections,
  { caller }: WriteContext,
  work: Work,
  { write, capture, further = [] }: Run,
  read: (answers: readonly (Answer | undefined)[]) => Result,
): Promise<Result> {
  const { scope, key, isAbandoned, origin, onPosition } = caller
  const steps = [...withCapture(write, capture), ...further]
  const isRecorded = collections.isAudited || capture !== undefined
  const options = { isRead: false, isAbandoned, onPosition, origin: isRecorded ? origin?.() : undefined }
  try {
    const result = await collections.writesOnce.run({ key, scope, steps, options }, (answers) =>
      read([answers[0], ...answers.slice(steps.length - further.length)]),
    )
    capture?.committed()
    return result
  } catch (error) {
    if (isNotCaptured(error)) {
      capture?.doubt()
      throw error
    }
    if (error instanceof StatementFailed && isCountFailure(error)) throw error
    throw (await explainFailure(collections, caller, error, work)) ?? error
  }
}

/**
 * Runs the write of a record.
 *
 * @throws AppError row_discarded, change_discarded, record_not_found when it affected no row; precondition_failed
 */
export async function writeRecord<Result>(
  collections: Collections,
  context: WriteContext,
  write: RecordWrite,
  read: (answer: Answer | undefined) => Result,
): Promise<Result> {
  return await runChecked(
    collections,
    context.caller,
    checkedWriteOf(collections, context.caller, write),
    () => writeOnce(collections, context, write, read),
    (failure) => missingRow(failure, write.action),
  )
}

/** @throws StatementFailed when it affected no row */
async function writeOnce<Result>(
  collections: Collections,
  context: WriteContext,
  { action, relation, body, id, answer, precondition, isTagged = false }: RecordWrite,
  read: (answer: Answer | undefined) => Result,
): Promise<Result> {
  const { statements, changes } = collections
  const { catalog, reader } = context
  const capture = findCapture(changes, { relation, action, form: changeForm(action), reader })
  const isCaptured = capture?.takesChanges === true
  const comparesVersion = formOf(precondition) === 'version'
  const key = writeKey(`${action} ${isCaptured} ${comparesVersion} ${isTagged}`, context, relation, body)
  const template = statements.remember(catalog, key, () =>
    statements.template(
      compileWriteStatement(action, planWholeRecord(relation, reader), body.columns, {
        isCaptured,
        answer,
        comparesVersion,
        isTagged,
      }),
    ),
  )
  const relations = answer === undefined ? [relation] : relationsOf(answer)
  const work = writeOf(relations, action === 'delete' ? undefined : body)
  const write = fill(template, { ...writeSlots(body.json, id), ...preconditionSlots(precondition) })
  return await runWrite(collections, context, work, { write, capture }, ([written]) => read(written))
}

/** Returns the cache key of a write statement, which is compiled once per set of columns and request shape. */
export function writeKey(
  name: string,
  { reader, shape }: WriteContext,
  relation: Relation,
  body: RecordBody,
): string {
  const positions = body.columns.map(({ position }) => position).join()
  return `${name} ${reader} ${positions} ${relation.collection.length} ${relation.collection}${shape}`
}

export function writeOf(relations: Work['relations'], body: Work['body']): Work {
  return { action: 'write', relations, body }
}

/** Returns whether our own check of the number of rows failed. */
function isCountFailure(failure: StatementFailed): boolean {
  return isRowMissing(failure) || readUnexpectedCount(failure) !== undefined
}
