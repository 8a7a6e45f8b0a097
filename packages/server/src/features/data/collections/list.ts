import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import type { Call } from '../../../database/message.ts'
import { requireTable } from '../../../http/grants.ts'
import type { Caller } from './caller.ts'
import { requireRelation } from './catalog-access.ts'
import { compileAggregate } from './compile/aggregate.ts'
import { collectionErrors } from './errors.ts'
import { formatPage, listFragments } from './list-page.ts'
import { type AggregateListQuery, parseListQuery } from './parse/list-query.ts'
import { planAggregate } from './plan/aggregate.ts'
import { type ListPlan, planList, relationsOfList } from './plan/list.ts'
import type { Reader } from './plan/reader.ts'
import { type PlanContext, planRows, type RowsPlan, relationsOfRows } from './plan/rows.ts'
import { noteSearch, type Reading, readerOf, requireTables, rowsKey, runRead } from './reading.ts'

/** A list, or the results of an aggregate, as JSON text. */
export interface ListAnswer {
  readonly body: string
  /** Of an aggregate: how long the database took. */
  readonly durationMs: number | undefined
}

export type AnswerList = (caller: Caller, collection: string, queryString: string) => Promise<ListAnswer>

export function createList(reading: Reading): AnswerList {
  const { statements, withCatalog, searches, limits } = reading

  function prepare(catalog: Catalog, collection: string, reader: Reader, queryString: string): Prepared {
    const relation = requireRelation(catalog, collection, reader)
    const query = parseListQuery(queryString)
    const context = { catalog, reader, searches }
    if ('aggregate' in query) return prepareAggregate(context, relation, query)
    const plan = planList(context, relation, query, limits)
    return { kind: 'page', plan, calls: listFragments(plan).map((fragment) => statements.call(fragment)) }
  }

  function prepareAggregate(context: PlanContext, relation: Relation, query: AggregateListQuery): Prepared {
    if (!limits.aggregateEnabled) throw collectionErrors.aggregateDisabled()
    const rows = planRows(context, relation, query)
    const plan = planAggregate(rows, query.aggregate, limits.maxGroups)
    return { kind: 'aggregate', rows, calls: [statements.call(compileAggregate(plan))] }
  }

  return (caller, collection, queryString) =>
    withCatalog(async (catalog) => {
      requireTable(caller.scope, collection)
      const reader = readerOf(caller)
      const prepared = statements.remember(
        catalog,
        rowsKey(reading, 'list', reader, collection, queryString),
        () => prepare(catalog, collection, reader, queryString),
      )
      return prepared.kind === 'page'
        ? await answerPage(reading, caller, prepared)
        : await answerAggregate(reading, caller, prepared)
    })
}

type Prepared = PreparedPage | PreparedAggregate

interface PreparedPage {
  readonly kind: 'page'
  readonly plan: ListPlan
  readonly calls: readonly Call[]
}

interface PreparedAggregate {
  readonly kind: 'aggregate'
  readonly rows: RowsPlan
  readonly calls: readonly Call[]
}

async function answerPage(
  reading: Reading,
  caller: Caller,
  { plan, calls }: PreparedPage,
): Promise<ListAnswer> {
  const relations = relationsOfList(plan)
  requireTables(caller, relations)
  noteSearch(reading, plan.rows)
  const answers = await runRead(reading, caller, relations, calls)
  return { body: formatPage(plan, answers), durationMs: undefined }
}

async function answerAggregate(
  reading: Reading,
  caller: Caller,
  { rows, calls }: PreparedAggregate,
): Promise<ListAnswer> {
  const relations = relationsOfRows(rows)
  requireTables(caller, relations)
  noteSearch(reading, rows)
  const startedAt = performance.now()
  const [answer] = await runRead(reading, caller, relations, calls)
  const durationMs = Math.round(performance.now() - startedAt)
  const [results = '[]', isExhaustive] = answer?.rows[0] ?? []
  return { body: `{"results":${results}${isExhaustive === 'f' ? ',"exhaustive":false' : ''}}`, durationMs }
}
