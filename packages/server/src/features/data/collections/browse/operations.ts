import type { FastifyRequest } from 'fastify'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { mayHaveTriggers } from '../../../../database/change-log.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { readViewReason, requirePermission } from '../../../../http/access/grants.ts'
import { asText, ok, operation } from '../../../../http/operation.ts'
import { originOf } from '../../../../http/requests/request-origin.ts'
import { choice, nullable, viewReason } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { Caller } from '../access/caller.ts'
import { requireRelation, withCatalog } from '../access/catalog-access.ts'
import { withCatalogOf } from '../access/viewer-catalog.ts'
import type { Collections } from '../collections.ts'
import { compilePage } from '../compile/browse.ts'
import { compileWhole } from '../compile/cell.ts'
import { compileIdentity } from '../compile/identity.ts'
import { compileFrom } from '../compile/rows.ts'
import { writeSlots } from '../compile/write.ts'
import { collectionErrors } from '../errors.ts'
import { parseBatch, tableOf } from '../parse/batch.ts'
import { type BrowseQuery, parseBrowseQuery, parseCellQuery, parseCountQuery } from '../parse/browse.ts'
import { readParameters } from '../parse/parameters.ts'
import { parseBodyId } from '../parse/record-id.ts'
import { type PagePlan, planPage } from '../plan/browse.ts'
import { relationsOfOrder } from '../plan/order.ts'
import { requireColumn } from '../plan/references.ts'
import { planRows, relationsOfRows } from '../plan/rows.ts'
import { readerOf, runRead } from '../read/reading.ts'
import { requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { fill } from '../statement-cache.ts'
import { runBatch } from '../write/run-batch.ts'
import { requireWritableBy } from '../write/writes.ts'
import { compileFacts, describeTable, type GridFacts, GridTable } from './describe.ts'
import { formatPage, GridPage } from './page.ts'

/** Reads and writes of the dashboard grid. Bodies stay text, as in the data API. */

const tablePath = '/api/admin/tables/:table'
const common = {
  guard: 'admin',
  permission: 'rows.view',
  tag: 'tables',
  params: Type.Object({ table: Type.String({ description: 'As in `/api/collections`.' }) }),
} as const

const rowsQuery = {
  filter: Type.Optional(Type.String({ description: 'As in a list.' })),
  search: Type.Optional(Type.String({ description: 'As in a list.' })),
  as: Type.Optional(
    Type.String({ description: 'Id of a user. The rows are read through the policies, as this user.' }),
  ),
  reason: viewReason,
}

const get = operation({
  ...common,
  id: 'tables.get',
  permission: 'structure.read',
  method: 'GET',
  path: tablePath,
  summary: 'Describe a table for a grid',
  success: ok(GridTable),
  handle(collections: Collections, { http }, reply) {
    const { caller, table, query } = requestOf(http, reply)
    readParameters(query, [])
    return withCatalogOf(collections.catalog, caller, async (catalog) => {
      const relation = requireRelation(catalog, table, readerOf(caller))
      const hasTriggers = collections.changes.hasTriggers && mayHaveTriggers(relation)
      const call = collections.statements.call(compileFacts(relation, hasTriggers))
      const [answer] = await runRead(collections, caller, { relations: [relation] }, [call])
      return describeTable(relation, JSON.parse(answer?.rows[0]?.[0] ?? '') as GridFacts)
    })
  },
})

const rows = operation({
  ...common,
  id: 'tables.rows',
  method: 'GET',
  path: `${tablePath}/rows`,
  summary: 'List rows with long values cut',
  description:
    'Cells are texts as PostgreSQL prints them, of limited length. `sizes` has the size in bytes of each cell that was cut, by column index. The response has at most about one megabyte. Rows are not counted.',
  query: Type.Object({
    ...rowsQuery,
    columns: Type.Optional(
      Type.String({ description: 'Column names, separated by commas. Default: all columns.' }),
    ),
    sort: Type.Optional(Type.String({ description: 'As in a list.' })),
    limit: Type.Optional(Type.Integer({ default: 100, minimum: 1, maximum: 500 })),
    after: Type.Optional(
      Type.String({ description: '`after` of another page: returns the rows that follow it.' }),
    ),
    before: Type.Optional(
      Type.String({ description: '`before` of another page: returns the rows that precede it.' }),
    ),
    from: Type.Optional(
      Type.String({ description: 'Value of the first sort column at which the page begins.' }),
    ),
    id: Type.Optional(Type.String({ description: 'Primary key of the only row to return.' })),
    maxCost: Type.Optional(
      Type.Integer({ description: 'A statement whose planner cost is higher is rejected with 409.' }),
    ),
  }),
  success: asText(ok(GridPage)),
  async handle(collections: Collections, { http }, reply) {
    const { caller: administrator, table, query: queryString } = requestOf(http, reply)
    const query = parseBrowseQuery(queryString)
    const caller = await readAs(collections, administrator, query, http)
    return await withCatalogOf(collections.catalog, caller, async (catalog) => {
      const relation = requireRelation(catalog, table, readerOf(caller))
      const plan = planPage(contextOf(collections, catalog, caller), relation, query)
      await recordView(collections, caller, relation, query.reason, http)
      const page = compilePage(plan)
      if (query.maxCost !== undefined) await requireCheap(collections, caller, plan, page, query.maxCost)
      const [answer] = await readRows(collections, caller, plan, [page])
      return formatPage(plan, answer?.rows ?? [])
    })
  },
})

const count = operation({
  ...common,
  id: 'tables.count',
  method: 'GET',
  path: `${tablePath}/count`,
  summary: 'Count rows up to a limit',
  query: Type.Object({
    ...rowsQuery,
    most: Type.Optional(
      Type.Integer({
        description: 'Counting stops after this many rows. Default: no limit.',
      }),
    ),
  }),
  success: ok(
    Type.Object({
      count: Type.Integer(),
      isBounded: Type.Boolean({ description: 'True if there are more rows than were counted.' }),
      estimate: Type.Integer({ description: 'Estimate of the planner.' }),
    }),
  ),
  async handle(collections: Collections, { http }, reply) {
    const { caller: administrator, table, query: queryString } = requestOf(http, reply)
    const query = parseCountQuery(queryString)
    const caller = await readAs(collections, administrator, query, http)
    return await withCatalogOf(collections.catalog, caller, async (catalog) => {
      const relation = requireRelation(catalog, table, readerOf(caller))
      const rows = planRows(contextOf(collections, catalog, caller), relation, query)
      await recordView(collections, caller, relation, query.reason, http)
      const { most } = query
      const limit = most === undefined ? sql.empty : sql`limit ${sql.integer(most + 1)}`
      const [counted, explained] = await readRows(collections, caller, { rows }, [
        sql`select count(*) from (select ${compileFrom(rows, 't')} ${limit}) c`,
        sql`explain (format json) select ${compileFrom(rows, 't')}`,
      ])
      const found = Number(counted?.rows[0]?.[0] ?? 0)
      const isBounded = most !== undefined && found > most
      return {
        count: isBounded ? most : found,
        isBounded,
        estimate: Math.max(found, Math.round(readPlan(explained)['Plan Rows'])),
      }
    })
  },
})

const cell = operation({
  ...common,
  id: 'tables.cell',
  method: 'GET',
  path: `${tablePath}/cell`,
  summary: 'Read a value in full, as text',
  query: Type.Object({
    id: Type.String({ description: 'Primary key of the row.' }),
    column: Type.String(),
  }),
  success: ok(Type.Object({ value: nullable(Type.String(), { description: 'Bytes as `\\\\x…`.' }) })),
  handle(collections: Collections, { http }, reply) {
    const { caller, table, query } = requestOf(http, reply)
    return withCatalogOf(collections.catalog, caller, async (catalog) => {
      const { id, column: name } = parseCellQuery(query)
      const relation = requireRelation(catalog, table, readerOf(caller))
      const column = requireColumn(relation, name, 'column', readerOf(caller))
      const template = collections.statements.template(sql`
        select ${compileWhole(column.type, sql.id('t', name))}
        ${compileFrom({ relation, conditions: [] }, 't', [compileIdentity(relation, 't')])}`)
      const call = fill(template, writeSlots('', parseBodyId(relation, id)))
      const [answer] = await runRead(collections, caller, { relations: [relation] }, [call])
      const row = answer?.rows[0]
      if (row === undefined) throw collectionErrors.recordNotFound(id)
      return { value: row[0] ?? null }
    })
  },
})

const applyChanges = operation({
  ...common,
  id: 'tables.applyChanges',
  permission: 'rows.write',
  method: 'POST',
  path: `${tablePath}/changes`,
  summary: 'Write changes of rows, all or none',
  description:
    'The changes run like a batch, in one transaction. An update or delete with `ifMatch` is a 412 when the row has another version, and `operation` names it. Results have the entity tag of the written row, and the record before the change as `before`. A create may set columns that are `generated always as identity`, so that it can restore a deleted row.',
  body: Type.Object({
    operations: Type.Array(
      Type.Object({
        method: choice(['create', 'update', 'delete']),
        id: Type.Optional(Type.String({ description: 'As in a batch.' })),
        ifMatch: Type.Optional(Type.String({ description: 'Entity tag of the row when it was read.' })),
        body: Type.Optional(TableRecord),
      }),
    ),
  }),
  success: asText(
    ok(
      Type.Array(
        Type.Object({
          index: Type.Integer({ description: 'Index of the operation.' }),
          status: Type.Integer(),
          body: Type.Optional(TableRecord),
          before: Type.Optional(TableRecord),
          etag: Type.Optional(Type.String()),
        }),
      ),
    ),
  ),
  handle(collections: Collections, { http }, reply) {
    const request = requestOf(http, reply)
    readParameters(request.query, [])
    const { caller, table, body } = request
    return withCatalog(collections.catalog, async (catalog) => {
      const relation = requireWritableBy(caller, catalog, table)
      const { operations } = parseBatch(body, tableOf(relation))
      return await runBatch(collections, {
        catalog,
        caller,
        operations,
        isTagged: true,
        hasBefore: true,
        setsIdentity: true,
      })
    })
  },
})

export const browseOperations = [get, rows, count, cell, applyChanges]

/** Returns the reading caller: the administrator, or the user that the grid is viewed as. */
async function readAs(
  { viewAs }: Collections,
  caller: Caller,
  { as: userId, reason }: Pick<BrowseQuery, 'as' | 'reason'>,
  http: FastifyRequest,
): Promise<Caller> {
  if (userId === undefined) return caller
  requirePermission(adminOf(http), 'access.explain')
  readViewReason(adminOf(http), reason)
  const scope = await viewAs.findScope(userId)
  if (scope === undefined) throw collectionErrors.invalidParameter('as: user not found')
  return { ...caller, scope }
}

async function recordView(
  { viewAs }: Collections,
  { scope }: Caller,
  { collection }: Relation,
  reason: string | undefined,
  http: FastifyRequest,
): Promise<void> {
  if (scope.kind !== 'caller') return
  const viewer = { sessionId: adminOf(http).sessionId, origin: originOf(http) }
  const stored = readViewReason(adminOf(http), reason)
  await viewAs.record({ userId: scope.userId, tables: [collection], reason: stored, viewer })
}

const contextOf = ({ searches }: Collections, catalog: Catalog, caller: Caller) => ({
  catalog,
  reader: readerOf(caller),
  searches,
})

/** Rows, and the order in which they are read. */
type SortedRows = Pick<PagePlan, 'rows'> & Partial<Pick<PagePlan, 'order'>>

function readRows(
  collections: Collections,
  caller: Caller,
  { rows, order = [] }: SortedRows,
  fragments: readonly Sql[],
): Promise<readonly Answer[]> {
  const calls = fragments.map((fragment) => collections.statements.call(fragment))
  const relations = [...relationsOfRows(rows), ...relationsOfOrder(order)]
  return runRead(collections, caller, { relations, rows }, calls)
}

/** @throws AppError costly_query */
async function requireCheap(
  collections: Collections,
  caller: Caller,
  plan: SortedRows,
  page: Sql,
  most: number,
): Promise<void> {
  const [explained] = await readRows(collections, caller, plan, [sql`explain (format json) ${page}`])
  const cost = Math.round(readPlan(explained)['Total Cost'])
  if (cost > most) throw collectionErrors.costlyQuery().with({ data: { cost, maxCost: most } })
}

interface PlanNode {
  readonly 'Total Cost': number
  readonly 'Plan Rows': number
}

function readPlan(explained: Answer | undefined): PlanNode {
  // PostgreSQL returns this for `explain (format json)` (PostgreSQL, EXPLAIN).
  const [{ Plan }] = JSON.parse(explained?.rows[0]?.[0] ?? '') as [{ readonly Plan: PlanNode }]
  return Plan
}
