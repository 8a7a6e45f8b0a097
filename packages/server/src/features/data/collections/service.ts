import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import type { ChangeLog } from '../../../database/change-log.ts'
import type { Answer } from '../../../database/connection/message.ts'
import type { Database } from '../../../database/open.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { requireTable } from '../../../http/access/grants.ts'
import type { WritesOnce } from '../idempotency/index.ts'
import type { ViewAs } from '../view-as/index.ts'
import type { Caller } from './access/caller.ts'
import { createCatalogAccess, requireRelation, requireWritable } from './access/catalog-access.ts'
import { type BrowseService, createBrowseService } from './browse/service.ts'
import { compileGet, writeSlots } from './compile/write.ts'
import { collectionErrors } from './errors.ts'
import { createExporter, type Exporter, type ExportLimits } from './export/service.ts'
import { createFailureExplainer } from './faults/explain.ts'
import { parseBatch, tableOf, tableOfEach } from './parse/batch.ts'
import { parseRecordQuery } from './parse/list-query.ts'
import { readParameters } from './parse/parameters.ts'
import { parseRecordBody, type RecordBody } from './parse/record-body.ts'
import { parsePathId } from './parse/record-id.ts'
import { type BulkQuery, parseBulkQuery, parseCreateQuery } from './parse/write-query.ts'
import { planBulk, relationsOfBulk } from './plan/bulk.ts'
import type { ReadLimits } from './plan/list.ts'
import { planAnswer, planRecord, type RecordPlan, relationsOf } from './plan/record.ts'
import type { SearchDefinitions } from './plan/search.ts'
import { planUpsert } from './plan/upsert.ts'
import { createFacetSearch, type SearchFacet } from './read/facet-search.ts'
import { type AnswerList, createList } from './read/list.ts'
import type { QueryEmbedder } from './read/list-request.ts'
import { type Reading, readerOf, readKey, requireTables, runRead } from './read/reading.ts'
import { fill, StatementCache, type Template } from './statement-cache.ts'
import { createBatchRunner } from './write/batch.ts'
import { createCaptureFinder } from './write/capture.ts'
import { explainingRefusal } from './write/refusal.ts'
import { createWrites, nothingWritten } from './write/writes.ts'

/** What the collection endpoints do. Answers are JSON text as Postgres built it. */
export interface CollectionService {
  readonly browse: BrowseService
  readonly list: AnswerList
  readonly searchFacet: SearchFacet
  readonly openExport: Exporter['open']
  get(caller: Caller, collection: string, id: string, queryString: string): Promise<string>
  create(caller: Caller, collection: string, body: string, queryString: string): Promise<CreateResult>
  update(caller: Caller, collection: string, id: string, body: string, queryString: string): Promise<string>
  delete(caller: Caller, collection: string, id: string, queryString: string): Promise<void>
  /** Every record that a filter finds. */
  updateAll(caller: Caller, collection: string, body: string, queryString: string): Promise<string>
  deleteAll(caller: Caller, collection: string, queryString: string): Promise<string>
  /** Operations on one collection. */
  batch(caller: Caller, collection: string, body: string, queryString: string): Promise<string>
  /** The same with the version of each record, where the client has read it. */
  applyChanges(caller: Caller, collection: string, body: string): Promise<string>
  /** Operations that each name their collection as `table`. */
  batchAcross(caller: Caller, body: string, queryString: string): Promise<string>
  /** Cuts the exports in flight. */
  stop(): Promise<void>
}

export interface CreateResult {
  /** False when a record with the same key was found. */
  readonly isCreated: boolean
  readonly record: string
}

export interface CollectionDeps {
  readonly catalog: LiveCatalog
  readonly database: Pick<UserDatabase, 'run' | 'begin'>
  readonly viewAs: ViewAs
  readonly writesOnce: WritesOnce
  /** Connections beside the pools, for exports. */
  readonly aside: Database['aside']
  readonly changes: ChangeLog
  /** For searches by meaning; undefined when no provider is configured. */
  readonly embedder?: QueryEmbedder | undefined
  readonly searches: SearchDefinitions
  /** Whether changes of some tables are recorded with the request that made them. */
  readonly isAudited: boolean
  /** Whether errors of the operator's own definitions carry the text of PostgreSQL for everybody. */
  readonly isDevelopment: boolean
  /** How many records one write by filter may change. */
  readonly bulkLimit: number
  readonly limits: ReadLimits
  readonly exportLimits: ExportLimits
  readonly log: Pick<Logger, 'warn'>
}

export function createCollectionService({
  catalog: live,
  database,
  viewAs,
  writesOnce,
  changes,
  embedder,
  searches,
  isAudited,
  isDevelopment,
  bulkLimit,
  limits,
  aside,
  exportLimits,
  log,
}: CollectionDeps): CollectionService {
  const statements = new StatementCache()
  const withCatalog = createCatalogAccess(live)
  const findCapture = createCaptureFinder(changes)
  const explainFailure = createFailureExplainer({ database, statements, isDevelopment })
  const reading: Reading = { database, statements, withCatalog, searches, explainFailure, limits }
  const exporter = createExporter({ ...reading, aside, exportLimits, log })
  const writing = { statements, writesOnce, isAudited, findCapture, explainFailure }
  const runBatch = createBatchRunner(writing)
  const writes = createWrites(writing)

  async function writeAll(
    catalog: Catalog,
    caller: Caller,
    relation: Relation,
    query: BulkQuery,
    action: 'update' | 'delete',
    body: RecordBody,
    queryString: string,
  ): Promise<string> {
    const reader = readerOf(caller)
    const work = { action, columns: body.columns, limit: bulkLimit }
    const plan = planBulk({ catalog, reader, searches }, relation, query, work)
    requireTables(caller, relationsOfBulk(plan))
    const context = { catalog, caller, reader, shape: queryString }
    const { count, records } = await writes.bulk(context, plan, body.json, query.expect)
    return `{"${action}d":${count}${records === null ? '' : `,"items":${records}`}}`
  }

  return {
    browse: createBrowseService(reading, viewAs, changes.hasTriggers),
    list: createList(reading, embedder),
    searchFacet: createFacetSearch(reading),
    openExport: exporter.open,
    stop: exporter.stop,

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
        const relations = relationsOf(record)
        requireTables(caller, relations)
        const call = fill(template, writeSlots('', parsePathId(record.relation, id)))
        const [answer] = await runRead(reading, caller, { relations }, [call])
        return requireRecord(answer)
      }),

    create: (caller, collection, body, queryString) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const reader = readerOf(caller)
        const query = parseCreateQuery(queryString)
        const answer = planAnswer(catalog, relation, query, reader)
        if (answer !== undefined) requireTables(caller, relationsOf(answer))
        const record = parseRecordBody(relation, body, 'create')
        const context = { catalog, caller, reader, shape: queryString }
        if (query.conflict !== undefined) {
          const plan = planUpsert(relation, query.conflict, record.columns)
          return await writes.upsert(context, { relation, body: record, answer, plan })
        }
        const write = { action: 'create', relation, body: record, id: [], answer } as const
        return await writes.write(context, write, (created) => ({
          isCreated: true,
          record: requireRecord(created),
        }))
      }).catch(explainingRefusal),

    update: (caller, collection, id, body, queryString) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const reader = readerOf(caller)
        const key = parsePathId(relation, id)
        const answer = planAnswer(catalog, relation, parseRecordQuery(queryString), reader)
        if (answer !== undefined) requireTables(caller, relationsOf(answer))
        const record = parseRecordBody(relation, body, 'update')
        return await writes.write(
          { catalog, caller, reader, shape: queryString },
          { action: 'update', relation, body: record, id: key, answer },
          requireRecord,
        )
      }).catch(explainingRefusal),

    delete: (caller, collection, id, queryString) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const key = parsePathId(relation, id)
        readParameters(queryString, [])
        await writes.write(
          { catalog, caller, reader: readerOf(caller), shape: '' },
          { action: 'delete', relation, body: nothingWritten, id: key },
          () => undefined,
        )
      }),

    updateAll: (caller, collection, body, queryString) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const query = parseBulkQuery(queryString, bulkLimit)
        const record = parseRecordBody(relation, body, 'update')
        return await writeAll(catalog, caller, relation, query, 'update', record, queryString)
      }).catch(explainingRefusal),

    deleteAll: (caller, collection, queryString) =>
      withCatalog(async (catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const query = parseBulkQuery(queryString, bulkLimit)
        return await writeAll(catalog, caller, relation, query, 'delete', nothingWritten, queryString)
      }),

    batch: (caller, collection, body, queryString) =>
      withCatalog((catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        readParameters(queryString, [])
        return runBatch(catalog, caller, readerOf(caller), parseBatch(body, tableOf(relation)))
      }),

    applyChanges: (caller, collection, body) =>
      withCatalog((catalog) => {
        const relation = requireWritableBy(caller, catalog, collection)
        const operations = parseBatch(body, tableOf(relation), { readsVersions: true })
        return runBatch(catalog, caller, readerOf(caller), operations, { answersVersions: true })
      }),

    batchAcross: (caller, body, queryString) =>
      withCatalog((catalog) => {
        readParameters(queryString, [])
        const findTable = tableOfEach((table) => requireWritableBy(caller, catalog, table))
        return runBatch(catalog, caller, readerOf(caller), parseBatch(body, findTable))
      }),
  }
}

/** Before the catalog is asked: a program does not learn which other tables there are. */
function requireWritableBy(caller: Caller, catalog: Catalog, collection: string): Relation {
  requireTable(caller.scope, collection)
  return requireWritable(catalog, collection, readerOf(caller))
}

function requireRecord(answer: Answer | undefined): string {
  const record = answer?.rows[0]?.[0]
  if (record == null) throw collectionErrors.recordNotFound()
  return record
}
