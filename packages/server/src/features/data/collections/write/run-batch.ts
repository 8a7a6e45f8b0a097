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
import { type HookedWrite, type PendingChange, passHooks, writeWithHooks } from '../hooks/pass-hooks.ts'
import type { HookSet, TableHooks } from '../hooks/write-hooks.ts'
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
  /** Operations that the transaction has run before these. */
  readonly earlier?: readonly BatchOperation[]
  /** True if creates accept values for identity columns that PostgreSQL otherwise generates. */
  readonly setsIdentity?: boolean
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

/**
 * Runs the operations in one transaction, and in one message unless some pass hooks. Returns their results as a JSON array.
 */
export async function runBatch(collections: Collections, batch: Batch): Promise<string> {
  const options = { mayMerge: true, mayRetry: true }
  const set = collections.hooks.current()
  const parts = set === undefined ? [] : partsOf(set, batch.operations)
  if (parts.some(({ hooks }) => hooks !== undefined)) return await runHookedBatch(collections, batch, parts)
  return await collections.writesOnce.storingFailure(batch.caller, () => attempt(collections, batch, options))
}

/** Neighbouring operations that pass the same hooks, or none. */
interface BatchPart {
  readonly hooks: TableHooks | undefined
  readonly operations: readonly BatchOperation[]
}

/**
 * Divides a batch into the parts whose hooks are called together. A part has no record twice, so that hooks get each record as
 * the operation before has left it.
 */
function partsOf(set: HookSet, operations: readonly BatchOperation[]): readonly BatchPart[] {
  const parts: (BatchPart & { readonly operations: BatchOperation[]; readonly key: string })[] = []
  let ids = new Set<string>()
  for (const operation of operations) {
    const { relation } = operation
    const kind = kindOf(operation)
    const hooks = set.find(relation, kind === 'upsert' ? upsertActions : [kind])
    const key = hooks === undefined ? '' : `${kind} ${relation.collection}`
    const id = operation.method === 'create' ? undefined : operation.id.join('\0')
    const last = parts.at(-1)
    if (last?.key === key && (hooks === undefined || id === undefined || !ids.has(id))) {
      last.operations.push(operation)
    } else {
      parts.push({ hooks, key, operations: [operation] })
      ids = new Set()
    }
    if (id !== undefined) ids.add(id)
  }
  return parts
}

const upsertActions = ['create', 'update'] as const

function kindOf(operation: BatchOperation): PendingChange['operation'] {
  const isUpsert = operation.method === 'create' && operation.conflict?.action === 'update'
  return isUpsert ? 'upsert' : operation.method
}

async function runHookedBatch(
  collections: Collections,
  batch: Batch,
  parts: readonly BatchPart[],
): Promise<string> {
  // A wrong batch is refused before any hook runs.
  for (const { precondition, relation } of batch.operations) requireVersions(precondition, relation)
  planBatch(batch.operations, () => false)
  const isSingle = parts.length === 1
  return await writeWithHooks(collections, batch.caller, { isSingle }, async (write) => {
    const results: string[] = []
    const earlier: BatchOperation[] = []
    for (const { hooks, operations } of parts) {
      const changed = hooks === undefined ? operations : await passHooksOfPart(write, hooks, operations)
      const part = { ...batch, caller: write.caller, operations: changed, earlier: [...earlier] }
      const written = await attempt(write.collections, part, { mayMerge: true, mayRetry: true })
      results.push(written.slice(1, -1))
      earlier.push(...operations)
    }
    return `[${results.join()}]`
  })
}

async function passHooksOfPart(
  write: HookedWrite,
  hooks: TableHooks,
  operations: readonly BatchOperation[],
): Promise<readonly BatchOperation[]> {
  const [first] = operations
  if (first === undefined) return operations
  const changes = operations.map(
    (operation): PendingChange => ({
      operation: kindOf(operation),
      ...(operation.method === 'create' ? {} : { id: operation.id }),
      ...(operation.method === 'delete' ? {} : { body: operation.body }),
    }),
  )
  const bodies = await passHooks(write, hooks, first.relation, changes, (error, position) => {
    const operation = operations[position]
    return operation === undefined ? error : blameOperation(error, operation)
  })
  return operations.map((operation, position) => {
    const body = bodies[position]
    return operation.method === 'delete' || body === undefined ? operation : { ...operation, body }
  })
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
    (relation) => mayMerge && !relation.isInShards && !unmergeable.has(relation),
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
  { caller, operations, earlier = [] }: Batch,
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
    const isWrittenBefore = [...earlier, ...operations]
      .filter(({ index }) => index < operation.index)
      .some((each) => each.method !== 'create' && each.relation === relation && each.id.join() === id)
    return isMet && isWrittenBefore ? preconditionFailed(undefined) : undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

function compileBatch(
  collections: Collections,
  { catalog, caller, isTagged, hasBefore, setsIdentity = false }: Batch,
  runs: readonly BatchRun[],
): readonly RunStep[] {
  const reader = readerOf(caller)
  return [
    ...compileChecks(collections, runs),
    ...runs.flatMap((run) => {
      const context = {
        catalog,
        reader,
        shape: '',
        isTagged: isTagged && hasVersions(run.relation),
        setsIdentity,
      }
      return [
        ...(hasBefore === true ? compileBefore(collections, reader, run) : []),
        ...(run.upsert === undefined
          ? compileRun(collections, context, run)
          : compileUpsertRun(collections, context, run, run.upsert)),
      ]
    }),
  ]
}

type RunContext = Pick<UpsertWrite, 'catalog' | 'reader' | 'shape'> & {
  readonly isTagged: boolean
  readonly setsIdentity: boolean
}

function compileRun(
  { statements, changes }: Collections,
  { catalog, reader, isTagged, setsIdentity }: RunContext,
  run: BatchRun,
): RunStep[] {
  const { relation, method, columns } = run
  const form = isMerged(run) ? 'array' : changeForm(method)
  const capture = findCapture(changes, { relation, action: method, form, reader })
  const isCaptured = capture?.takesChanges === true
  const positions = columns.map(({ position }) => position).join()
  const comparesVersion = formOf(preconditionOfRun(run)) === 'version'
  const key = `batch ${isMerged(run)} ${method} ${reader} ${isCaptured} ${isTagged} ${setsIdentity} ${comparesVersion} ${positions} ${relation.collection}`
  const template = statements.remember(catalog, key, () => {
    const record = planWholeRecord(relation, reader)
    return statements.template(
      isMerged(run)
        ? compileCreates(record, columns, { isCaptured, isTagged, setsIdentity })
        : compileWriteStatement(method, record, columns, {
            ...{ isCaptured, isTagged, comparesVersion, setsIdentity },
          }),
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
