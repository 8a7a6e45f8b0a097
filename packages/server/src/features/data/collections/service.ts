import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Column, Relation } from '../../../database/catalog/model.ts'
import { type ChangeAction, type ChangeLog, withCapture } from '../../../database/change-log.ts'
import { type Answer, StatementFailed } from '../../../database/message.ts'
import type { Database } from '../../../database/open.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { requireTable } from '../../../http/grants.ts'
import { createBatchRunner } from './batch.ts'
import type { Caller } from './caller.ts'
import { createCaptureFinder } from './capture.ts'
import { createCatalogAccess, requireRelation, requireWritable } from './catalog-access.ts'
import { changeForm, compileGet, compileWrite, isRowMissing, writeSlots } from './compile/write.ts'
import { createDefinitionFaultFinder } from './definition-faults.ts'
import { collectionErrors } from './errors.ts'
import { createExporter, type Exporter, type ExportLimits } from './export.ts'
import { createFacetSearch, type SearchFacet } from './facet-search.ts'
import { type AnswerList, createList } from './list.ts'
import { parseBatch, tableOf, tableOfEach } from './parse/batch.ts'
import { parseRecordQuery } from './parse/list-query.ts'
import { parseRecordBody } from './parse/record-body.ts'
import { parsePathId } from './parse/record-id.ts'
import type { ReadLimits } from './plan/list.ts'
import { planRecord, planWholeRecord, type RecordPlan, relationsOf } from './plan/record.ts'
import { type Reading, readerOf, readKey, requireTables, runRead } from './reading.ts'
import { explainingRefusal } from './refusal.ts'
import { fill, StatementCache, type Template } from './statements.ts'

/** What the collection endpoints do. Answers are JSON text as Postgres built it. */
export interface CollectionService {
  readonly list: AnswerList
  readonly searchFacet: SearchFacet
  readonly openExport: Exporter['open']
  get(caller: Caller, collection: string, id: string, queryString: string): Promise<string>
  create(caller: Caller, collection: string, body: string): Promise<string>
  update(caller: Caller, collection: string, id: string, body: string): Promise<string>
  delete(caller: Caller, collection: string, id: string): Promise<void>
  /** Operations on one collection. */
  batch(caller: Caller, collection: string, body: string): Promise<string>
  /** Operations that each name their collection as `table`. */
  batchAcross(caller: Caller, body: string): Promise<string>
  /** Cuts the exports in flight. */
  stop(): Promise<void>
}

export interface CollectionDeps {
  readonly catalog: LiveCatalog
  readonly database: UserDatabase
  /** Connections beside the pools, for exports. */
  readonly aside: Database['aside']
  readonly changes: ChangeLog
  /** Whether changes of some tables are recorded with the request that made them. */
  readonly isAudited: boolean
  /** Whether errors of the operator's own definitions carry the text of PostgreSQL for everybody. */
  readonly isDevelopment: boolean
  readonly limits: ReadLimits
  readonly exportLimits: ExportLimits
  readonly log: Pick<Logger, 'warn'>
}

export function createCollectionService({
  catalog: live,
  database,
  changes,
  isAudited,
  isDevelopment,
  limits,
  aside,
  exportLimits,
  log,
}: CollectionDeps): CollectionService {
  const statements = new StatementCache()
  const withCatalog = createCatalogAccess(live)
  const findCapture = createCaptureFinder(changes, statements)
  const findDefinitionFault = createDefinitionFaultFinder({ database, statements, isDevelopment })
  const reading: Reading = { database, statements, withCatalog, findDefinitionFault, limits }
  const exporter = createExporter({ ...reading, aside, exportLimits, log })
  const runBatch = createBatchRunner({
    statements,
    database,
    isAudited,
    findCapture,
    findDefinitionFault,
  })

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
    list: createList(reading),
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
        requireTables(caller, record)
        const call = fill(template, writeSlots('', parsePathId(record.relation, id)))
        const [answer] = await runRead(reading, caller, relationsOf(record), [call])
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
