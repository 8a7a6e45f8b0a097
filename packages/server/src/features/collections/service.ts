import type { LiveCatalog } from '../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../database/catalog/model.ts'
import type { ChangeAction, ChangeLog } from '../../database/change-log.ts'
import { translateDatabaseFailure } from '../../database/errors.ts'
import { type Answer, type Call, StatementFailed } from '../../database/message.ts'
import type { CallerScope, RunOptions, UserDatabase } from '../../database/user-database.ts'
import { AppError } from '../../lib/errors.ts'
import { compileRun, isRowMissing } from './compile/batch.ts'
import { compileCount, compileCursorPage, compileEstimate, compileOffsetPage } from './compile/list.ts'
import { compileCreate, compileDelete, compileGet, compileUpdate } from './compile/write.ts'
import { collectionErrors } from './errors.ts'
import {
  type BatchOperation,
  blameOperation,
  type FindRelation,
  parseBatch,
  relationByTable,
} from './parse/batch.ts'
import { type Cursor, formatCursor } from './parse/cursor.ts'
import { parseListQuery, parseRecordQuery } from './parse/list-query.ts'
import { parseRecordBody } from './parse/record-body.ts'
import { parsePathId } from './parse/record-id.ts'
import { type BatchRun, planBatch } from './plan/batch.ts'
import { type ListPlan, planList } from './plan/list.ts'
import type { Reader } from './plan/reader.ts'
import { planRecord, planWholeRecord } from './plan/record.ts'
import { StatementCache } from './statements.ts'

/** Who asks, and whether they are still there. */
export interface Caller {
  readonly scope: CallerScope
  readonly isAbandoned: () => boolean
}

/** What the collection endpoints do. Every method answers JSON text as Postgres built it. */
export interface CollectionService {
  list(caller: Caller, collection: string, queryString: string): Promise<string>
  get(caller: Caller, collection: string, id: string, queryString: string): Promise<string>
  create(caller: Caller, collection: string, body: string): Promise<string>
  update(caller: Caller, collection: string, id: string, body: string): Promise<string>
  delete(caller: Caller, collection: string, id: string): Promise<void>
  /** Operations on one collection. */
  batch(caller: Caller, collection: string, body: string): Promise<string>
  /** Operations that each name their collection as `table`. */
  batchAcross(caller: Caller, body: string): Promise<string>
}

export interface CollectionDeps {
  readonly catalog: LiveCatalog
  readonly database: UserDatabase
  readonly changes: ChangeLog
}

export function createCollectionService({
  catalog: live,
  database,
  changes,
}: CollectionDeps): CollectionService {
  const statements = new StatementCache()

  /**
   * Runs work planned on the current snapshot. When Postgres contradicts the snapshot (a column has gone), or a
   * collection is not in it, the snapshot is looked at again and a new one gives the work another chance.
   */
  async function withCatalog<Result>(work: (catalog: Catalog) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(live.current)
      } catch (error) {
        if (attempt < 4 && mayBeOutdated(error) && (await live.refresh())) continue
        throw error instanceof StatementFailed ? (translateDatabaseFailure(error) ?? error) : error
      }
    }
  }

  function run(caller: Caller, calls: readonly Call[], isRead: boolean): Promise<readonly Answer[]> {
    const options: RunOptions = { isRead, isAbandoned: caller.isAbandoned }
    return database.run(caller.scope, calls, options)
  }

  function capture(relation: Relation, action: ChangeAction): readonly Call[] {
    const call = changes.capture(relation, action)
    return call === undefined ? [] : [call]
  }

  async function runBatch(
    caller: Caller,
    operations: readonly BatchOperation[],
    separately: boolean,
  ): Promise<string> {
    const reader = readerOf(caller)
    const runs = planBatch(operations, reader, separately)
    const calls: Call[] = []
    /** The run that each call belongs to. */
    const runOfCall: BatchRun[] = []
    for (const batchRun of runs) {
      const captures = capture(batchRun.relation, batchRun.method)
      for (const call of [statements.call(compileRun(batchRun, reader, captures.length > 0)), ...captures]) {
        calls.push(call)
        runOfCall.push(batchRun)
      }
    }
    try {
      const answers = await run(caller, calls, false)
      const results = answers.filter((_, index) => runOfCall[index] !== runOfCall[index - 1])
      return `[${results.map((answer) => answer.rows[0]?.[0] ?? '').join(',')}]`
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error
      const failed = runOfCall[error.index]
      // A deferred constraint speaks at the commit, of no operation in particular.
      if (failed === undefined) throw error
      const [operation] = failed.operations
      // Nothing has happened yet: once more, one by one, to learn which operation of the run it is.
      if (failed.operations.length > 1 || operation === undefined)
        return await runBatch(caller, operations, true)
      if (mayBeOutdated(error)) throw error
      throw blameOperation(operationError(error, operation), operation.index, operation.method)
    }
  }

  return {
    list: (caller, collection, queryString) =>
      withCatalog(async (catalog) => {
        const reader = readerOf(caller)
        const { plan, calls } = statements.remember(
          catalog,
          `list ${reader} ${collection}?${queryString}`,
          () => {
            const relation = requireRelation(catalog, collection)
            const planned = planList(catalog, relation, parseListQuery(queryString), reader)
            return {
              plan: planned,
              calls: listFragments(planned).map((fragment) => statements.call(fragment)),
            }
          },
        )
        return listBody(plan, await run(caller, calls, true))
      }),

    get: (caller, collection, id, queryString) =>
      withCatalog(async (catalog) => {
        const reader = readerOf(caller)
        const record = statements.remember(catalog, `get ${reader} ${collection}?${queryString}`, () =>
          planRecord(catalog, requireRelation(catalog, collection), parseRecordQuery(queryString), reader),
        )
        const call = statements.call(compileGet(record, parsePathId(record.relation, id)))
        const [answer] = await run(caller, [call], true)
        return requireRecord(answer)
      }),

    create: (caller, collection, body) =>
      withCatalog(async (catalog) => {
        const relation = requireWritable(catalog, collection)
        const { columns, json } = parseRecordBody(relation, body, 'create')
        const captures = capture(relation, 'create')
        const record = planWholeRecord(relation, readerOf(caller))
        const call = statements.call(compileCreate(record, columns, json, captures.length > 0))
        const [answer] = await run(caller, [call, ...captures], false)
        const created = answer?.rows[0]?.[0]
        if (created == null) throw collectionErrors.rowDiscarded()
        return created
      }).catch((error) => {
        throw error instanceof AppError ? explainRefusal(error) : error
      }),

    update: (caller, collection, id, body) =>
      withCatalog(async (catalog) => {
        const relation = requireWritable(catalog, collection)
        const key = parsePathId(relation, id)
        const { columns, json } = parseRecordBody(relation, body, 'update')
        const captures = capture(relation, 'update')
        const record = planWholeRecord(relation, readerOf(caller))
        const call = statements.call(compileUpdate(record, columns, key, json, captures.length > 0))
        const [answer] = await run(caller, [call, ...captures], false)
        return requireRecord(answer)
      }).catch((error) => {
        throw error instanceof AppError ? explainRefusal(error) : error
      }),

    delete: (caller, collection, id) =>
      withCatalog(async (catalog) => {
        const relation = requireWritable(catalog, collection)
        const key = parsePathId(relation, id)
        const captures = capture(relation, 'delete')
        const record = planWholeRecord(relation, readerOf(caller))
        const call = statements.call(compileDelete(record, key, captures.length > 0))
        const [answer] = await run(caller, [call, ...captures], false)
        if (answer === undefined || answer.count === 0) throw collectionErrors.recordNotFound()
      }),

    batch: (caller, collection, body) =>
      withCatalog((catalog) => {
        const relation = requireWritable(catalog, collection)
        const findRelation: FindRelation = (table) => {
          if (table === undefined || table === collection) return relation
          throw collectionErrors.invalidBatch(
            `table: expected "${collection}", or none; several tables go to /api/batch`,
          )
        }
        return runBatch(caller, parseBatch(body, findRelation), false)
      }),

    batchAcross: (caller, body) =>
      withCatalog((catalog) => {
        const find = relationByTable(catalog)
        return runBatch(
          caller,
          parseBatch(body, (table) => requireWritableKind(find(table))),
          false,
        )
      }),
  }
}

function readerOf({ scope }: Caller): Reader {
  return scope.kind
}

function requireRelation(catalog: Catalog, collection: string): Relation {
  const relation = catalog.relations.get(collection)
  if (relation === undefined) throw collectionErrors.collectionNotFound(collection)
  return relation
}

function requireWritable(catalog: Catalog, collection: string): Relation {
  return requireWritableKind(requireRelation(catalog, collection))
}

function requireWritableKind(relation: Relation): Relation {
  if (relation.kind === 'table' || relation.kind === 'partitioned_table') return relation
  const error = collectionErrors.writeNotAllowed(relation.kind.replace('_', ' '))
  throw error.with({ headers: { allow: 'GET, HEAD' } })
}

function requireRecord(answer: Answer | undefined): string {
  const record = answer?.rows[0]?.[0]
  if (record == null) throw collectionErrors.recordNotFound()
  return record
}

function listFragments(plan: ListPlan) {
  if (plan.paging.kind === 'cursor') return [compileCursorPage(plan, plan.paging.after)]
  const page = compileOffsetPage(plan, plan.paging.page)
  switch (plan.paging.total) {
    case 'exact':
      return [page, compileCount(plan)]
    case 'estimated':
      return [page, compileEstimate(plan)]
    case 'none':
      return [page]
  }
}

function listBody({ paging, perPage }: ListPlan, [page, total]: readonly Answer[]): string {
  const [items = '[]', lastKey = null] = page?.rows[0] ?? []
  if (paging.kind === 'cursor') {
    const next =
      lastKey === null ? '' : `,"nextCursor":${JSON.stringify(formatCursor(JSON.parse(lastKey) as Cursor))}`
    return `{"perPage":${perPage}${next},"items":${items}}`
  }
  const totalItems = readTotal(paging.total, total?.rows[0]?.[0] ?? '')
  const totalPages = totalItems === -1 ? -1 : Math.ceil(totalItems / perPage)
  return `{"page":${paging.page},"perPage":${perPage},"totalItems":${totalItems},"totalPages":${totalPages},"items":${items}}`
}

function readTotal(kind: 'exact' | 'estimated' | 'none', text: string): number {
  if (kind === 'none') return -1
  if (kind === 'exact') return Number(text)
  // EXPLAIN (FORMAT JSON) answers [{"Plan": {"Plan Rows": n, …}}].
  const [explained] = JSON.parse(text) as { Plan: { 'Plan Rows': number } }[]
  return Math.round(explained?.Plan['Plan Rows'] ?? 0)
}

/** Whether the failure can come from a snapshot that is behind the database. */
function mayBeOutdated(error: unknown): boolean {
  if (error instanceof StatementFailed) return outdatedCodes.has(error.error.code ?? '')
  return error instanceof AppError && outdatedKinds.has(error.kind)
}

/**
 * An object has gone (42P01, 42703, 42704, 3F000), has another type (42804, 42883, 0A000), or went while the
 * statement was looked at (XX000).
 */
const outdatedCodes = new Set(['42P01', '42703', '42704', '3F000', '42804', '42883', '0A000', 'XX000'])
/** The request names what the snapshot does not have. */
const outdatedKinds = new Set([
  'collection_not_found',
  'unknown_column',
  'unknown_filter_column',
  'unknown_relation',
])

function operationError(failure: StatementFailed, operation: BatchOperation): AppError {
  if (isRowMissing(failure)) {
    return operation.method === 'create'
      ? collectionErrors.rowDiscarded()
      : collectionErrors.recordNotFound(operation.id.join(','))
  }
  const error = translateDatabaseFailure(failure)
  if (error === undefined) throw failure
  return operation.method === 'delete' ? error : explainRefusal(error)
}

/** A refused write may have been fine and only its return forbidden; Postgres says the same of both. */
function explainRefusal(error: AppError): AppError {
  if (error.kind !== 'insufficient_permissions') return error
  return error.with({
    data: { hint: 'the record must pass a policy for the write, and one that lets the caller read it back' },
  })
}
