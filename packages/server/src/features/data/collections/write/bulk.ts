import type { Relation } from '../../../../database/catalog/model.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { asText, ok, operation } from '../../../../http/operation.ts'
import { component } from '../../../../http/schemas.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import { withCatalog } from '../access/catalog-access.ts'
import { refusePrecondition } from '../access/precondition.ts'
import type { Collections } from '../collections.ts'
import { bulkSlots, readUnexpectedCount } from '../compile/bulk.ts'
import { compileBulkStatement } from '../compile/write-statement.ts'
import { collectionErrors } from '../errors.ts'
import { findHooks, writeWithHooks } from '../hooks/pass-hooks.ts'
import { writeRowsWithHooks } from '../hooks/write-rows.ts'
import { collectionPath, tableParams, writing } from '../operation.ts'
import { parseRecordBody, type RecordBody } from '../parse/record-body.ts'
import { parseBulkQuery } from '../parse/write-query.ts'
import { type BulkPlan, planBulk, relationsOfBulk } from '../plan/bulk.ts'
import { bulkQuery } from '../query-schemas.ts'
import { readerOf, requireTables } from '../read/reading.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { fill } from '../statement-cache.ts'
import { findCapture } from './capture.ts'
import { explainingRefusal } from './refusal.ts'
import {
  nothingWritten,
  requireWritableBy,
  runWrite,
  type WriteContext,
  writeKey,
  writeOf,
} from './writes.ts'

const items = Type.Optional(Type.Array(TableRecord, { description: 'Present with `return=records`.' }))
const RecordsUpdateResult = component('RecordsUpdateResult', Type.Object({ updated: Type.Integer(), items }))
const RecordsDeleteResult = component('RecordsDeleteResult', Type.Object({ deleted: Type.Integer(), items }))

export const updateAll = operation({
  ...writing('update'),
  id: 'collections.updateAll',
  method: 'PATCH',
  path: collectionPath,
  summary: 'Change the given fields of all records that match a filter',
  params: tableParams,
  query: bulkQuery,
  body: TableRecord,
  success: asText(ok(RecordsUpdateResult)),
  handle(collections: Collections, { http }, reply) {
    refusePrecondition(http)
    return writeAll(collections, 'update', requestOf(http, reply)).catch(explainingRefusal)
  },
})

export const deleteAll = operation({
  ...writing('delete'),
  id: 'collections.deleteAll',
  method: 'DELETE',
  path: collectionPath,
  summary: 'Delete all records that match a filter',
  params: tableParams,
  query: bulkQuery,
  success: asText(ok(RecordsDeleteResult)),
  handle(collections: Collections, { http }, reply) {
    refusePrecondition(http)
    return writeAll(collections, 'delete', requestOf(http, reply))
  },
})

/** Writes every record that matches a filter. Responds with their number, and with the records if requested. */
export async function writeAll(
  collections: Collections,
  action: BulkPlan['action'],
  { caller, table, body = '', query = '' }: CollectionRequest,
): Promise<string> {
  const { bulkLimit: limit, searches } = collections
  return await withCatalog(collections.catalog, async (catalog) => {
    const relation = requireWritableBy(caller, catalog, table)
    const reader = readerOf(caller)
    const parsed = parseBulkQuery(query, limit)
    const record = action === 'update' ? parseRecordBody(relation, body, 'update') : nothingWritten
    const work = { action, columns: record.columns, limit }
    const plan = planBulk({ catalog, reader, searches }, relation, parsed, work)
    requireTables(caller, relationsOfBulk(plan))
    const context = { catalog, caller, reader, shape: query }
    const { count, records } = await runBulk(collections, context, {
      plan,
      relation,
      body: record,
      ...parsed,
    })
    return `{"${action}d":${count}${records === null ? '' : `,"items":${records}`}}`
  })
}

interface BulkWrite {
  readonly plan: BulkPlan
  readonly relation: Relation
  readonly body: RecordBody
  /** Number of records that the filter must match. */
  readonly expect: number
}

/** @returns the number of records, and the records as a JSON array if requested */
async function runBulk(
  collections: Collections,
  context: WriteContext,
  { plan, relation, body, expect }: BulkWrite,
): Promise<{ readonly count: number; readonly records: string | null }> {
  const { statements, changes } = collections
  const { catalog, reader } = context
  const { action, rows, limit } = plan
  const hooks = findHooks(collections, relation, action)
  if (hooks !== undefined) {
    const requireCount = (found: number) => {
      if (found !== expect) throw unexpectedCount(found, expect, limit)
    }
    return await writeWithHooks(collections, context.caller, { isSingle: false }, async (hooked) => {
      const { count, records } = await writeRowsWithHooks(hooked, hooks, {
        catalog,
        plan,
        body,
        requireCount,
      })
      return { count, records: plan.answer === undefined ? null : `[${records.join()}]` }
    })
  }
  const capture = findCapture(changes, { relation, action, form: 'array', reader })
  const isCaptured = capture?.takesChanges === true
  const key = writeKey(`bulk ${action} ${isCaptured}`, context, relation, body)
  const template = statements.remember(catalog, key, () =>
    statements.template(compileBulkStatement(plan, isCaptured)),
  )
  const work = { ...writeOf(relationsOfBulk(plan), action === 'delete' ? undefined : body), rows }
  const write = fill(template, bulkSlots(body.json, expect))
  try {
    return await runWrite(collections, context, work, { write, capture }, ([answer]) => {
      const [count, records = null] = answer?.rows[0] ?? []
      return { count: Number(count), records }
    })
  } catch (error) {
    const found = error instanceof StatementFailed ? readUnexpectedCount(error) : undefined
    if (found === undefined) throw error
    throw unexpectedCount(found, expect, limit)
  }
}

function unexpectedCount(found: number, expect: number, limit: number): AppError {
  return found > limit
    ? collectionErrors.unexpectedCount(expect, `more than ${limit}`).with({ data: { expected: expect } })
    : collectionErrors.unexpectedCount(expect, String(found)).with({ data: { expected: expect, found } })
}
