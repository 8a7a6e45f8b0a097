import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Column, Relation } from '../../../database/catalog/model.ts'
import { type ChangeAction, type ChangeLog, withCapture } from '../../../database/change-log.ts'
import { type Answer, type Call, StatementFailed } from '../../../database/message.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { requireTable } from '../../../http/grants.ts'
import { createBatchRunner } from './batch.ts'
import type { Caller } from './caller.ts'
import { createCaptureFinder } from './capture.ts'
import { createCatalogAccess, requireRelation, requireWritable } from './catalog-access.ts'
import { changeForm, compileGet, compileWrite, isRowMissing, writeSlots } from './compile/write.ts'
import { createDefinitionFaultFinder } from './definition-faults.ts'
import { collectionErrors } from './errors.ts'
import { hybridRequest } from './hybrid-request.ts'
import { pageRequest } from './list-page.ts'
import type { ListContext, ListRequest, QueryEmbedder } from './list-request.ts'
import { nearestRequest } from './nearest-request.ts'
import { parseBatch, tableOf, tableOfEach } from './parse/batch.ts'
import { type ListQuery, parseListQuery, parseRecordQuery } from './parse/list-query.ts'
import { parseRecordBody } from './parse/record-body.ts'
import { parsePathId } from './parse/record-id.ts'
import { planList } from './plan/list.ts'
import type { Reader } from './plan/reader.ts'
import { planRecord, planWholeRecord, type RecordPlan, relationsOf } from './plan/record.ts'
import { searchOf } from './plan/rows.ts'
import type { SearchDefinitions } from './plan/search.ts'
import { explainingRefusal } from './refusal.ts'
import { fill, StatementCache, type Template } from './statements.ts'

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
  /** For searches by meaning; undefined when no provider is configured. */
  readonly embedder?: QueryEmbedder | undefined
  readonly searches: SearchDefinitions
  /** Whether changes of some tables are recorded with the request that made them. */
  readonly isAudited: boolean
  /** Whether errors of the operator's own definitions carry the text of PostgreSQL for everybody. */
  readonly isDevelopment: boolean
}

export function createCollectionService({
  catalog: live,
  database,
  changes,
  embedder,
  searches,
  isAudited,
  isDevelopment,
}: CollectionDeps): CollectionService {
  const statements = new StatementCache()
  const withCatalog = createCatalogAccess(live)
  const findCapture = createCaptureFinder(changes, statements)
  const findDefinitionFault = createDefinitionFaultFinder({ database, statements, isDevelopment })
  const runBatch = createBatchRunner({
    statements,
    database,
    isAudited,
    findCapture,
    findDefinitionFault,
  })

  async function read(
    caller: Caller,
    record: RecordPlan,
    calls: readonly Call[],
  ): Promise<readonly Answer[]> {
    try {
      return await database.run(caller.scope, calls, { isRead: true, isAbandoned: caller.isAbandoned })
    } catch (error) {
      throw (await findDefinitionFault(caller, error, { relations: relationsOf(record) })) ?? error
    }
  }

  /**
   * Runs a write, compiled once per set of columns, and hands it on when there is a listener. Answers no row, or
   * nothing, when it touched none.
   */
  async function write(
    catalog: Catalog,
    caller: Caller,
    action: ChangeAction,
    relation: Relation,
    input: { readonly columns: readonly Column[]; readonly json: string; readonly id: readonly string[] },
  ): Promise<Answer | undefined> {
    const reader = readerOf(caller)
    const slots = writeSlots(input.json, input.id)
    const capture = findCapture({ catalog, relation, action, form: changeForm(action), reader, slots })
    const isCaptured = capture !== undefined
    const positions = input.columns.map(({ position }) => position).join()
    const key = `${action} ${reader} ${isCaptured} ${positions} ${relation.collection}`
    const template = statements.remember(catalog, key, () =>
      statements.template(
        compileWrite(action, planWholeRecord(relation, reader), input.columns, {
          isCaptured,
          mustTouch: false,
        }),
      ),
    )
    const steps = withCapture(fill(template, slots), capture)
    try {
      const answers = await database.run(caller.scope, steps, {
        isRead: false,
        isAbandoned: caller.isAbandoned,
        origin: isAudited ? caller.origin?.() : undefined,
      })
      capture?.committed()
      return answers[capture?.before.length ?? 0]
    } catch (error) {
      if (error instanceof StatementFailed && isRowMissing(error)) return undefined
      const work = { relations: [relation], ...(action === 'delete' ? {} : { body: input }) }
      throw (await findDefinitionFault(caller, error, work)) ?? error
    }
  }

  return {
    list: (caller, collection, queryString) =>
      withCatalog(async (catalog) => {
        requireTable(caller.scope, collection)
        const reader = readerOf(caller)
        const request = statements.remember(
          catalog,
          `${searches.version} ${readKey('list', reader, collection, queryString)}`,
          () => {
            const relation = requireRelation(catalog, collection, reader)
            const context = { catalog, reader, searches, statements, embedder }
            return planListRequest(context, relation, parseListQuery(queryString))
          },
        )
        requireTables(caller, request.record)
        if (searchOf(request.rows) !== undefined) searches.noteSearch?.(request.rows.relation)
        return request.format(await read(caller, request.record, await request.calls(caller)))
      }),

    get: (caller, collection, id, queryString) =>
      withCatalog(async (catalog) => {
        requireTable(caller.scope, collection)
        const reader = readerOf(caller)
        const { record, template } = statements.remember(
          catalog,
          readKey('get', reader, collection, queryString),
          (): { record: RecordPlan; template: Template } => {
            const relation = requireRelation(catalog, collection, reader)
            const planned = planRecord(catalog, relation, parseRecordQuery(queryString), reader)
            return { record: planned, template: statements.template(compileGet(planned)) }
          },
        )
        requireTables(caller, record)
        const call = fill(template, writeSlots('', parsePathId(record.relation, id)))
        const [answer] = await read(caller, record, [call])
        return requireRecord(answer)
      }),

    create: (caller, collection, body) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const { columns, json } = parseRecordBody(relation, body, 'create')
        const answer = await write(catalog, caller, 'create', relation, { columns, json, id: [] })
        const created = answer?.rows[0]?.[0]
        if (created == null) throw collectionErrors.rowDiscarded()
        return created
      }).catch(explainingRefusal),

    update: (caller, collection, id, body) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const key = parsePathId(relation, id)
        const { columns, json } = parseRecordBody(relation, body, 'update')
        return requireRecord(await write(catalog, caller, 'update', relation, { columns, json, id: key }))
      }).catch(explainingRefusal),

    delete: (caller, collection, id) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const key = parsePathId(relation, id)
        const answer = await write(catalog, caller, 'delete', relation, { columns: [], json: '', id: key })
        if (answer === undefined || answer.count === 0) throw collectionErrors.recordNotFound()
      }),

    batch: (caller, collection, body) =>
      withCatalog((catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        return runBatch(catalog, caller, readerOf(caller), parseBatch(body, tableOf(relation)))
      }),

    batchAcross: (caller, body) =>
      withCatalog((catalog) =>
        runBatch(
          catalog,
          caller,
          readerOf(caller),
          parseBatch(
            body,
            tableOfEach((table) => requireWritableBy(caller, catalog, table)),
          ),
        ),
      ),
  }
}

function planListRequest(context: ListContext, relation: Relation, query: ListQuery): ListRequest {
  const { vector } = query
  if (vector === undefined) return pageRequest(planList(context, relation, query), context)
  return vector.kind === 'hybrid'
    ? hybridRequest(context, relation, { ...query, vector })
    : nearestRequest(context, relation, { ...query, vector })
}

/** Both texts are the caller's and may hold anything; the length tells where the first ends. */
function readKey(action: 'list' | 'get', reader: Reader, collection: string, queryString: string): string {
  return `${action} ${reader} ${collection.length} ${collection}${queryString}`
}

/** Before the catalog is asked: a program does not learn which other tables there are. */
function requireWritableBy(caller: Caller, catalog: Catalog, collection: string): Relation {
  requireTable(caller.scope, collection)
  return requireWritable(catalog, collection, readerOf(caller))
}

/** The plan may have been made for another caller. */
function requireTables({ scope }: Caller, record: RecordPlan): void {
  if (scope.kind !== 'caller' || scope.grant?.tables === undefined) return
  for (const relation of relationsOf(record)) requireTable(scope, relation.collection)
}

function readerOf({ scope }: Caller): Reader {
  return scope.kind
}

function requireRecord(answer: Answer | undefined): string {
  const record = answer?.rows[0]?.[0]
  if (record == null) throw collectionErrors.recordNotFound()
  return record
}
