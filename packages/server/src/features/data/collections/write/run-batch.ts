import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { type Capture, isNotCaptured, withCapture } from '../../../../database/change-log.ts'
import { type Answer, type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { originOf } from '../../../../database/errors/definition-faults.ts'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { sql } from '../../../../database/sql.ts'
import { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import { type Precondition, preconditionFailed } from '../access/precondition.ts'
import type { Collections } from '../collections.ts'
import { compileCreates, createsSlots, isMergeRefused, mergeCheck, relationSlots } from '../compile/batch.ts'
import { isRowMissing } from '../compile/required-row.ts'
import { formOf, preconditionSlots } from '../compile/version.ts'
import { changeForm, compileVersionCheck, versionSlots, writeSlots } from '../compile/write.ts'
import { compileWriteStatement } from '../compile/write-statement.ts'
import { collectionErrors } from '../errors.ts'
import { explainFailure, type Work } from '../faults/explain.ts'
import { type BatchOperation, blameOperation } from '../parse/batch.ts'
import { type BatchRun, planBatch } from '../plan/batch.ts'
import type { Reader } from '../plan/reader.ts'
import { planWholeRecord } from '../plan/record.ts'
import type { UpsertPlan } from '../plan/upsert.ts'
import { readerOf } from '../read/reading.ts'
import { fill, type SlotValues } from '../statement-cache.ts'
import { findCapture } from './capture.ts'
import { missingRow } from './missing-row.ts'
import { checkedWriteOf, isMetNow, requireVersions } from './precondition.ts'
import { explainRefusal } from './refusal.ts'
import { checkedUpsert, mayFindKeyNow, readUpsert, type UpsertWrite, upsertSteps } from './upsert-steps.ts'

/** Batch of a caller, resolved. */
export interface Batch {
  readonly catalog: Catalog
  readonly caller: Caller
  readonly operations: readonly BatchOperation[]
  /** True if results carry the version of the written row. */
  readonly answersVersions?: boolean
}

interface RunStep {
  readonly step: Step
  readonly run: BatchRun
  /** True if the step does the run's work, rather than a check or a capture. */
  readonly isWork: boolean
  /** Operation whose version the step compares; present for such a step only. */
  readonly versioned?: BatchOperation
  /** Capture of the run. */
  readonly capture?: Capture | undefined
}

/** Version of the rows that this transaction has written, as {@link compileVersionCheck} compares it. */
const writtenVersion = sql`select pg_current_xact_id()::xid::text`

/** Runs the operations in one transaction and one message. Returns their results as a JSON array. */
export async function runBatch(collections: Collections, batch: Batch): Promise<string> {
  // Merged creates share one statement, which returns no version.
  const options = { mayMerge: batch.answersVersions !== true, mayRetry: true }
  return await collections.writesOnce.storingFailure(batch.caller, () => attempt(collections, batch, options))
}

async function attempt(
  collections: Collections,
  batch: Batch,
  { mayMerge, mayRetry }: { readonly mayMerge: boolean; readonly mayRetry: boolean },
): Promise<string> {
  const { caller, operations } = batch
  const { unmergeable, writesOnce } = collections
  for (const { precondition, relation } of operations) requireVersions(precondition, relation)
  const runs = planBatch(
    operations,
    // Workers return the rows of one statement in any order.
    (relation) => mayMerge && !relation.isOnWorkers && !unmergeable.has(relation),
  )
  const compiled = compileBatch(collections, batch, runs)
  const versions = batch.answersVersions === true ? [collections.statements.call(writtenVersion)] : []
  const steps = [...compiled.map(({ step }) => step), ...versions]
  const { scope, key, isAbandoned, origin, onPosition } = caller
  const isRecorded = collections.isAudited || compiled.some(({ capture }) => capture !== undefined)
  const options = { isRead: false, isAbandoned, onPosition, origin: isRecorded ? origin?.() : undefined }
  try {
    const formatted = await writesOnce.run({ key, scope, steps, options }, (answers) =>
      formatResults(runs, compiled, answers),
    )
    compiled.find(({ capture }) => capture !== undefined)?.capture?.committed()
    return formatted
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    const failed = compiled[error.index]
    if (isNotCaptured(error)) {
      failed?.capture?.doubt()
      throw error
    }
    const operation = failed?.run.operations[0]
    // A deferred constraint fails at the commit, for no particular operation.
    if (failed === undefined || operation === undefined) {
      const relations = [...new Set(runs.map(({ relation }) => relation))]
      throw (await explainFailure(collections, caller, error, { action: 'write', relations })) ?? error
    }
    const { run, versioned } = failed
    if (versioned !== undefined && versioned.method !== 'create' && isRowMissing(error)) {
      throw blameOperation(collectionErrors.recordChanged(versioned.id.join(',')), versioned)
    }
    if (mayRetry && run.upsert !== undefined && mayFindKeyNow(error.error)) {
      return await attempt(collections, batch, { mayMerge, mayRetry: false })
    }
    if (!isMerged(run)) {
      const fault = isRowMissing(error)
        ? await findFailedPrecondition(collections, batch, run)
        : await explainFailure(collections, caller, error, workOf(operation))
      throw blameOperation(fault ?? operationError(error, operation), operation)
    }
    const isRefused = isMergeRefused(error)
    if (isRefused) unmergeable.add(run.relation)
    else if (!isFaultOfRequest(error) && !mayBeOfDefinition(error)) throw error
    // Nothing was written yet. The operations are retried one by one, also to learn which one of the run is to blame.
    return await attempt(collections, batch, { mayMerge: isRefused, mayRetry })
  }
}

/**
 * Returns the error of an operation that affected no row, if its precondition is to blame. An earlier operation of the batch
 * on the same record changes its version, too.
 */
async function findFailedPrecondition(
  collections: Collections,
  { caller, operations }: Batch,
  run: BatchRun,
): Promise<AppError | undefined> {
  const [operation] = run.operations
  if (operation?.precondition === undefined) return undefined
  const { relation } = operation
  try {
    if (operation.method === 'create') {
      if (run.upsert === undefined) return undefined
      const { body, precondition } = operation
      const write = { relation, body, plan: run.upsert, precondition }
      const isMet = await isMetNow(
        collections,
        caller,
        checkedUpsert(collections, { reader: readerOf(caller) }, write),
      )
      return isMet ? undefined : preconditionFailed(undefined)
    }
    const isMet = await isMetNow(collections, caller, checkedWriteOf(collections, caller, operation))
    const id = operation.id.join()
    const isWrittenBefore = operations
      .slice(0, operation.index)
      .some((each) => each.method !== 'create' && each.relation === relation && each.id.join() === id)
    return isMet && isWrittenBefore ? preconditionFailed(undefined) : undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

function compileBatch(
  collections: Collections,
  { catalog, caller }: Batch,
  runs: readonly BatchRun[],
): readonly RunStep[] {
  const context = { catalog, reader: readerOf(caller), shape: '' }
  return [
    ...compileChecks(collections, runs),
    ...compileVersionChecks(collections, context.reader, runs),
    ...runs.flatMap((run) =>
      run.upsert === undefined
        ? compileRun(collections, context, run)
        : compileUpsertRun(collections, context, run, run.upsert),
    ),
  ]
}

type RunContext = Pick<UpsertWrite, 'catalog' | 'reader' | 'shape'>

function compileRun(
  { statements, changes }: Collections,
  { catalog, reader }: RunContext,
  run: BatchRun,
): RunStep[] {
  const { relation, method, columns } = run
  const form = isMerged(run) ? 'array' : changeForm(method)
  const capture = findCapture(changes, { relation, action: method, form, reader })
  const isCaptured = capture?.takesChanges === true
  const positions = columns.map(({ position }) => position).join()
  const comparesVersion = formOf(preconditionOfRun(run)) === 'version'
  const key = `batch ${isMerged(run)} ${method} ${reader} ${isCaptured} ${comparesVersion} ${positions} ${relation.collection}`
  const template = statements.remember(catalog, key, () => {
    const record = planWholeRecord(relation, reader)
    return statements.template(
      isMerged(run)
        ? compileCreates(record, columns, isCaptured)
        : compileWriteStatement(method, record, columns, { isCaptured, comparesVersion }),
    )
  })
  return follow(run, fill(template, slotsOf(run)), capture)
}

/** Compiles an upsert for each operation: a statement that inserts several rows may not update a row twice. */
function compileUpsertRun(
  collections: Collections,
  context: RunContext,
  run: BatchRun,
  plan: UpsertPlan,
): RunStep[] {
  const { relation, columns } = run
  const body = { json: slotsOf(run).json ?? '', columns }
  const steps = upsertSteps(collections, {
    ...{ ...context, relation, body, plan },
    requiresRow: true,
    precondition: preconditionOfRun(run),
  })
  const reads = steps.read.map((step): RunStep => ({ step, run, isWork: true }))
  return [...follow(run, steps.write, steps.capture), ...reads]
}

function follow(run: BatchRun, write: Call, capture: Capture | undefined): RunStep[] {
  return withCapture(write, capture).map((step, index) => ({ step, run, isWork: index === 0, capture }))
}

/** Compiles a check for each relation with merged creates. */
function compileChecks({ statements }: Collections, runs: readonly BatchRun[]): RunStep[] {
  const byRelation = new Map(runs.filter(isMerged).map((run) => [run.relation, run]))
  const template = statements.template(mergeCheck)
  return [...byRelation.values()].map((run) => ({
    step: fill(template, relationSlots(run.relation)),
    run,
    isWork: false,
  }))
}

/**
 * Compiles the version checks. They run before anything is written, because an operation may follow another one on
 * the same record.
 */
function compileVersionChecks(
  { statements }: Collections,
  reader: Reader,
  runs: readonly BatchRun[],
): RunStep[] {
  return runs.flatMap((run) =>
    run.operations.flatMap((operation) => {
      if (operation.method === 'create' || operation.version === undefined) return []
      const template = statements.template(compileVersionCheck(planWholeRecord(run.relation, reader)))
      const step = fill(template, versionSlots(operation.id, operation.version))
      return [{ step, run, isWork: false, versioned: operation }]
    }),
  )
}

function formatResults(
  runs: readonly BatchRun[],
  compiled: readonly RunStep[],
  answers: readonly Answer[],
): string {
  const works = new Map<BatchRun, Answer[]>(runs.map((run) => [run, []]))
  const befores = new Map<BatchRun, string | null>()
  for (const [index, { run, isWork, versioned }] of compiled.entries()) {
    const answer = answers[index]
    if (isWork && answer !== undefined) works.get(run)?.push(answer)
    if (versioned !== undefined) befores.set(run, answer?.rows[0]?.[0] ?? null)
  }
  const version = answers[compiled.length]?.rows[0]?.[0] ?? null
  const results = Array.from(works, ([run, done]) =>
    formatResult(run, done, { before: befores.get(run) ?? null, version }),
  )
  return `[${results.join()}]`
}

function isMerged({ operations }: BatchRun): boolean {
  return operations.length > 1
}

/** Returns the precondition of an operation. Only creates without one are merged. */
function preconditionOfRun({ operations }: BatchRun): Precondition | undefined {
  return operations[0]?.precondition
}

function slotsOf(run: BatchRun): SlotValues {
  const [first] = run.operations
  const bodies = run.operations.map((operation) => (operation.method === 'delete' ? '' : operation.body.json))
  if (first === undefined || isMerged(run)) return createsSlots(bodies, first?.index ?? 0)
  return {
    ...writeSlots(bodies[0] ?? '', first.method === 'create' ? [] : first.id),
    ...preconditionSlots(first.precondition),
  }
}

/**
 * Formats one result, or the results of a run separated by commas.
 *
 * @param results of the run's work
 * @param more `before`: the record of an operation with a version, before the change; `version`: the new version of
 * the record
 */
function formatResult(
  run: BatchRun,
  [answer, found]: readonly Answer[],
  { before, version }: { readonly before: string | null; readonly version: string | null },
): string {
  const index = run.operations[0]?.index ?? 0
  if (run.upsert !== undefined) {
    const { isCreated, record } = readUpsert(run.upsert, answer, found)
    return `{"index":${index},"status":${isCreated ? 201 : 200},"body":${record}}`
  }
  const json = answer?.rows[0]?.[0] ?? ''
  if (isMerged(run)) return json
  switch (run.method) {
    case 'create':
      return `{"index":${index},"status":201,"body":${json}${formatVersion(version)}}`
    case 'update':
      return `{"index":${index},"status":200,"body":${json}${formatBefore(before)}${formatVersion(version)}}`
    case 'delete':
      return `{"index":${index},"status":204${formatBefore(before)}}`
  }
}

function formatBefore(before: string | null): string {
  return before === null ? '' : `,"before":${before}`
}

function formatVersion(version: string | null): string {
  return version === null ? '' : `,"version":"${version}"`
}

/** Returns whether a part of the request is to blame, rather than a slow or unavailable database. */
function isFaultOfRequest(failure: StatementFailed): boolean {
  return (translateDatabaseFailure(failure)?.status ?? 500) < 500
}

function mayBeOfDefinition({ error }: StatementFailed): boolean {
  const origin = originOf(error)
  return origin === 'definition' || origin === 'unknown'
}

function workOf(operation: BatchOperation): Work {
  const work = { action: 'write', relations: [operation.relation] } as const
  return operation.method === 'delete' ? work : { ...work, body: operation.body }
}

function operationError(failure: StatementFailed, operation: BatchOperation): AppError {
  if (isRowMissing(failure)) {
    if (operation.method !== 'create') return missingRow(failure, operation.method, operation.id.join(','))
    if (operation.conflict?.action === 'ignore') return collectionErrors.conflictHidden()
    return missingRow(failure, 'create')
  }
  const error = translateDatabaseFailure(failure)
  if (error === undefined) throw failure
  return operation.method === 'delete' ? error : explainRefusal(error)
}
