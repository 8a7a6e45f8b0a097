import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import { mayHaveTriggers } from '../../../../database/change-log.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { ViewAs, Viewer } from '../../view-as/index.ts'
import type { Caller } from '../access/caller.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { compileIdentity } from '../compile/identity.ts'
import { compileFrom } from '../compile/rows.ts'
import { writeSlots } from '../compile/write.ts'
import { collectionErrors } from '../errors.ts'
import { formatCursor } from '../parse/cursor.ts'
import { parseBodyId } from '../parse/record-id.ts'
import { describeKey } from '../plan/order.ts'
import { requireColumn } from '../plan/record.ts'
import { planRows, relationsOfRows } from '../plan/rows.ts'
import { type Reading, readerOf, runRead } from '../read/reading.ts'
import { fill } from '../statement-cache.ts'
import { compileWhole } from './cell.ts'
import { compileIsCaptured, describeTable } from './describe.ts'
import { compilePage, offsetCursor, offsetOf, type PagePlan, planPage, relationsOfPage } from './page.ts'
import { type BrowseQuery, parseBrowseQuery, parseCellQuery, parseCountQuery } from './parse.ts'

/** What a grid reads of a table. */
export interface BrowseService {
  describe(caller: Caller, collection: string): Promise<object>
  /** A page of rows as JSON text. */
  rows(caller: Caller, collection: string, queryString: string, viewer: Viewer): Promise<string>
  count(caller: Caller, collection: string, queryString: string, viewer: Viewer): Promise<RowCount>
  /** A value in full. */
  cell(caller: Caller, collection: string, queryString: string): Promise<{ readonly value: string | null }>
}

export interface RowCount {
  readonly count: number
  /** Whether there are more than were counted. */
  readonly isBounded: boolean
  /** What the planner expects. */
  readonly estimate: number
}

export function createBrowseService(reading: Reading, viewAs: ViewAs, hasTriggers: boolean): BrowseService {
  const { statements, withCatalog, searches } = reading

  /** Who reads: the administrator, or the user in whose place the rows are shown. */
  async function readAs(caller: Caller, userId: string | undefined): Promise<Caller> {
    if (userId === undefined) return caller
    const scope: CallerScope | undefined = await viewAs.findScope(userId)
    if (scope === undefined) throw collectionErrors.invalidParameter('as: user not found')
    return { ...caller, scope }
  }

  async function recordView({ scope }: Caller, { collection }: Relation, viewer: Viewer) {
    if (scope.kind === 'caller') await viewAs.record({ userId: scope.userId, tables: [collection], viewer })
  }

  const contextOf = (catalog: Catalog, caller: Caller) => ({ catalog, reader: readerOf(caller), searches })

  async function requireCheap(caller: Caller, plan: PagePlan, page: Sql, most: number): Promise<void> {
    const call = statements.call(sql`explain (format json) ${page}`)
    const [explained] = await runRead(
      reading,
      caller,
      { relations: relationsOfPage(plan), rows: plan.rows },
      [call],
    )
    const cost = Math.round(readPlan(explained)['Total Cost'])
    if (cost <= most) return
    throw collectionErrors.costlyQuery().with({ data: { cost, maxCost: most } })
  }

  return {
    describe: (caller, collection) =>
      withCatalog(async (catalog) => {
        const relation = requireRelation(catalog, collection, readerOf(caller))
        if (!hasTriggers || !mayHaveTriggers(relation))
          return { ...describeTable(relation), isCaptured: false }
        const call = statements.call(compileIsCaptured(relation))
        const [answer] = await runRead(reading, caller, { relations: [relation] }, [call])
        return { ...describeTable(relation), isCaptured: answer?.rows[0]?.[0] === 't' }
      }),

    async rows(administrator, collection, queryString, viewer) {
      const query = parseBrowseQuery(queryString)
      const caller = await readAs(administrator, query.as)
      return await withCatalog(async (catalog) => {
        const relation = requireRelation(catalog, collection, readerOf(caller))
        const plan = planPage(contextOf(catalog, caller), relation, query)
        await recordView(caller, relation, viewer)
        const page = compilePage(plan)
        if (query.maxCost !== undefined) await requireCheap(caller, plan, page, query.maxCost)
        const [answer] = await runRead(
          reading,
          caller,
          { relations: relationsOfPage(plan), rows: plan.rows },
          [statements.call(page)],
        )
        return formatPage(plan, query, answer?.rows ?? [])
      })
    },

    async count(administrator, collection, queryString, viewer) {
      const query = parseCountQuery(queryString)
      const caller = await readAs(administrator, query.as)
      return await withCatalog(async (catalog) => {
        const relation = requireRelation(catalog, collection, readerOf(caller))
        const rows = planRows(contextOf(catalog, caller), relation, query)
        await recordView(caller, relation, viewer)
        const { most } = query
        const limit = most === undefined ? sql.empty : sql`limit ${sql.integer(most + 1)}`
        const calls = [
          sql`select count(*) from (select ${compileFrom(rows, 't')} ${limit}) c`,
          sql`explain (format json) select ${compileFrom(rows, 't')}`,
        ].map((fragment) => statements.call(fragment))
        const [counted, explained] = await runRead(
          reading,
          caller,
          { relations: relationsOfRows(rows), rows },
          calls,
        )
        const count = Number(counted?.rows[0]?.[0] ?? 0)
        const isBounded = most !== undefined && count > most
        return {
          count: isBounded ? most : count,
          isBounded,
          estimate: Math.max(count, Math.round(readPlan(explained)['Plan Rows'])),
        }
      })
    },

    cell: (caller, collection, queryString) =>
      withCatalog(async (catalog) => {
        const { id, column: name } = parseCellQuery(queryString)
        const relation = requireRelation(catalog, collection, readerOf(caller))
        const column: Column = requireColumn(relation, name, 'column', readerOf(caller))
        const template = statements.template(sql`
          select ${compileWhole(column.type, sql.id('t', name))}
          ${compileFrom({ relation, conditions: [] }, 't', [compileIdentity(relation, 't')])}`)
        const call = fill(template, writeSlots('', parseBodyId(relation, id)))
        const [answer] = await runRead(reading, caller, { relations: [relation] }, [call])
        const row = answer?.rows[0]
        if (row === undefined) throw collectionErrors.recordNotFound(id)
        return { value: row[0] ?? null }
      }),
  }
}

interface PlanNode {
  readonly 'Total Cost': number
  readonly 'Plan Rows': number
}

function readPlan(explained: Answer | undefined): PlanNode {
  // What `explain (format json)` answers (PostgreSQL, EXPLAIN).
  const [{ Plan }] = JSON.parse(explained?.rows[0]?.[0] ?? '') as [{ readonly Plan: PlanNode }]
  return Plan
}

/** The cells of a row as JSON, sizes of cut ones, primary key, sort keys, version. */
type PageRow = Answer['rows'][number]

/** Cells stay the text that PostgreSQL made of them. */
function formatPage(plan: PagePlan, query: BrowseQuery, found: readonly PageRow[]): string {
  const isBackwards = plan.place.kind === 'before'
  const hasFurther = found.length > plan.limit
  const page = found.slice(0, plan.limit)
  if (isBackwards) page.reverse()
  const rows = page.map(([cells, sizes, key, , version]) => {
    const cut = sizes == null ? '' : cutSizes(sizes)
    return `{"key":${key ?? 'null'},"version":${JSON.stringify(version ?? null)}${cut},"cells":${cells ?? '[]'}}`
  })
  const hasNext = isBackwards || hasFurther
  // A page that begins somewhere may have rows before it, whatever comes of asking for them.
  const hasPrevious =
    plan.paging === 'keyset' &&
    (isBackwards ? hasFurther : query.place.kind === 'after' || query.place.kind === 'from')
  return `{"columns":${JSON.stringify(plan.columns.map(({ name }) => name))},"width":${plan.width},"paging":"${plan.paging}",${[
    `"before":${JSON.stringify(hasPrevious ? cursorOf(plan, page[0], 0) : null)}`,
    `"after":${JSON.stringify(hasNext ? cursorOf(plan, page.at(-1), page.length) : null)}`,
  ].join()},"rows":[${rows.join()}]}`
}

/** By the index of the column; most rows have none. */
function cutSizes(sizes: string): string {
  // Texts or null, as the statement made them.
  const values = JSON.parse(sizes) as readonly (string | null)[]
  const cut = values.flatMap((size, index) => (size === null ? [] : [`"${index}":${size}`]))
  return cut.length === 0 ? '' : `,"sizes":{${cut.join()}}`
}

/** @returns null where the values of the row are too long to continue from */
function cursorOf(plan: PagePlan, row: PageRow | undefined, count: number): string | null {
  if (row === undefined) return null
  if (plan.paging === 'offset') return formatCursor(offsetCursor(offsetOf(plan.place) + count))
  const values = JSON.parse(row[3] ?? '[]') as readonly (string | null)[]
  return formatCursor(
    plan.order.map((key, index) => ({ key: describeKey(key), value: values[index] ?? null })),
  )
}
