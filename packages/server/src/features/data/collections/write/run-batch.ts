import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { type Capture, isNotCaptured, withCapture } from '../../../../database/change-log.ts'
import { type Answer, type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { originOf } from '../../../../database/errors/definition-faults.ts'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import { type Precondition, preconditionFailed, versionTag } from '../access/precondition.ts'
import type { Collections } from '../collections.ts'
import { compileCreates, createsSlots, isMergeRefused, mergeCheck, relationSlots } from '../compile/batch.ts'
import { isRowMissing } from '../compile/required-row.ts'
import { formOf, preconditionSlots } from '../compile/version.ts'
import { changeForm, compileLocked, writeSlots } from '../compile/write.ts'
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
import { checkedWriteOf, hasVersions, isMetNow, requireVersions } from './precondition.ts'
import { explainRefusal } from './refusal.ts'
import { checkedUpsert, mayFindKeyNow, readUpsert, type UpsertWrite, upsertSteps } from './upsert-steps.ts'

/** Batch of a caller, resolved. */
export interface Batch {
  readonly catalog: Catalog
  readonly caller: Caller
  readonly operations: readonly BatchOperation[]
  /** True if results have the entity tags of the written records. */
  readonly isTagged: boolean
  /** True if results have the records before their changes. */
  readonly hasBefore?: boolean
}

interface RunStep {
  readonly step: Step
  readonly run: BatchRun
  /** True if the step does the run's work, rather than a check or a capture. */
  readonly isWork: boolean
  /** True if the step reads the record before its change. */
  readonly isBefore?: boolean
  /** Capture of the run. */
  readonly capture?: Capture | undefined
}

/** Runs the operations in one transaction and one message. Returns their results as a JSON array. */
export async function runBatch(collections: Collections, batch: Batch): Promise<string> {
  const options = { mayMerge: true, mayRetry: true }
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
  const steps = compiled.map(({ step }) => step)
  const { scope, key, isAbandoned, origin, onPosition } = caller
  const isRecorded = collections.isAudited || compiled.some(({ capture }) => capture !== undefined)
  const options = { isRead: false, isAbandoned, onPosition, origin: isRecorded ? origin?.() : undefined }
  try {
    const formatted = await writesOnce.run({ key, scope, steps, options }, (answers) =>
      formatResults(batch, runs, compiled, answers),
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
    const { run } = failed
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
  { catalog, caller, isTagged, hasBefore }: Batch,
  runs: readonly BatchRun[],
): readonly RunStep[] {
  const reader = readerOf(caller)
  return [
    ...compileChecks(collections, runs),
    ...runs.flatMap((run) => {
      const context = { catalog, reader, shape: '', isTagged: isTagged && hasVersions(run.relation) }
      return [
        ...(hasBefore === true ? compileBefore(collections, reader, run) : []),
        ...(run.upsert === undefined
          ? compileRun(collections, context, run)
          : compileUpsertRun(collections, context, run, run.upsert)),
      ]
    }),
  ]
}

type RunContext = Pick<UpsertWrite, 'catalog' | 'reader' | 'shape'> & { readonly isTagged: boolean }

function compileRun(
  { statements, changes }: Collections,
  { catalog, reader, isTagged }: RunContext,
  run: BatchRun,
): RunStep[] {
  const { relation, method, columns } = run
  const form = isMerged(run) ? 'array' : changeForm(method)
  const capture = findCapture(changes, { relation, action: method, form, reader })
  const isCaptured = capture?.takesChanges === true
  const positions = columns.map(({ position }) => position).join()
  const comparesVersion = formOf(preconditionOfRun(run)) === 'version'
  const key = `batch ${isMerged(run)} ${method} ${reader} ${isCaptured} ${isTagged} ${comparesVersion} ${positions} ${relation.collection}`
  const template = statements.remember(catalog, key, () => {
    const record = planWholeRecord(relation, reader)
    return statements.template(
      isMerged(run)
        ? compileCreates(record, columns, { isCaptured, isTagged })
        : compileWriteStatement(method, record, columns, { isCaptured, isTagged, comparesVersion }),
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

/** Compiles the read of the record before its change. Creates have none. */
function compileBefore({ statements }: Collections, reader: Reader, run: BatchRun): RunStep[] {
  const [operation] = run.operations
  if (operation === undefined || operation.method === 'create') return []
  const locked = compileLocked(planWholeRecord(run.relation, reader))
  const step = statements.fill(locked, writeSlots('', operation.id))
  return [{ step, run, isWork: false, isBefore: true }]
}

function formatResults(
  { isTagged }: Batch,
  runs: readonly BatchRun[],
  compiled: readonly RunStep[],
  answers: readonly Answer[],
): string {
  const works = new Map<BatchRun, Answer[]>(runs.map((run) => [run, []]))
  const befores = new Map<BatchRun, string | null>()
  for (const [index, { run, isWork, isBefore }] of compiled.entries()) {
    const answer = answers[index]
    if (isWork && answer !== undefined) works.get(run)?.push(answer)
    if (isBefore === true) befores.set(run, answer?.rows[0]?.[0] ?? null)
  }
  const results = Array.from(works, ([run, done]) =>
    formatResult(run, done, {
      before: befores.get(run) ?? null,
      isTagged: isTagged && hasVersions(run.relation),
    }),
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
 * @param more `before`: the record before its change, if it was read
 */
function formatResult(
  run: BatchRun,
  [answer, found]: readonly Answer[],
  { before, isTagged }: { readonly before: string | null; readonly isTagged: boolean },
): string {
  const index = run.operations[0]?.index ?? 0
  if (run.upsert !== undefined) {
    const { isCreated, record, version } = readUpsert(run.upsert, answer, found, isTagged)
    return `{"index":${index},"status":${isCreated ? 201 : 200},"body":${record}${formatTag(version)}}`
  }
  const [json, version] = answer?.rows[0] ?? []
  if (isMerged(run)) return json ?? ''
  const tag = isTagged ? formatTag(version) : ''
  switch (run.method) {
    case 'create':
      return `{"index":${index},"status":201,"body":${json}${tag}}`
    case 'update':
      return `{"index":${index},"status":200,"body":${json}${formatBefore(before)}${tag}}`
    case 'delete':
      return `{"index":${index},"status":204${formatBefore(before)}}`
  }
}

function formatBefore(before: string | null): string {
  return before === null ? '' : `,"before":${before}`
}

function formatTag(version: string | null | undefined): string {
  return version == null ? '' : `,"etag":${JSON.stringify(versionTag(version))}`
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
