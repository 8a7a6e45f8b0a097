import { StatementFailed } from '../../../../database/connection/message.ts'
import { asText, created, operation } from '../../../../http/operation.ts'
import { withCatalog } from '../access/catalog-access.ts'
import { preconditionFailed, preconditionOf, type WriteConditions } from '../access/precondition.ts'
import { tagWritten } from '../access/representation.ts'
import type { Collections } from '../collections.ts'
import { collectionErrors } from '../errors.ts'
import { findHooks, passHooks, writeWithHooks } from '../hooks/pass-hooks.ts'
import { collectionPath, tableParams, writingOne } from '../operation.ts'
import { parseRecordBody, type RecordBody } from '../parse/record-body.ts'
import { parseCreateQuery } from '../parse/write-query.ts'
import { planAnswer, relationsOf } from '../plan/record.ts'
import { planUpsert, type UpsertPlan } from '../plan/upsert.ts'
import { createQuery } from '../query-schemas.ts'
import { readerOf, requireTables } from '../read/reading.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { runChecked } from './precondition.ts'
import { explainingRefusal } from './refusal.ts'
import { checkedUpsert, mayFindKeyNow, readUpsert, type UpsertResult, upsertSteps } from './upsert-steps.ts'
import {
  type RecordWrite,
  readWritten,
  requireWritableBy,
  runWrite,
  type WriteContext,
  writeOf,
  writeRecord,
} from './writes.ts'

export const create = operation({
  ...writingOne('insert'),
  id: 'collections.create',
  method: 'POST',
  path: collectionPath,
  summary: 'Create a record, or update the one with its key',
  params: tableParams,
  query: createQuery,
  body: TableRecord,
  success: asText(created(TableRecord)),
  otherResponses: { 200: TableRecord },
  async handle(collections: Collections, { http }, reply) {
    const precondition = preconditionOf(http)
    const written = await createRecord(collections, requestOf(http, reply), { precondition, isTagged: true })
    if (!written.isCreated) void reply.code(200)
    tagWritten(reply, written)
    return written.record
  },
})

export function createRecord(
  collections: Collections,
  { caller, table, body = '', query = '' }: CollectionRequest,
  { precondition, isTagged: isRequested = false }: WriteConditions = {},
): Promise<UpsertResult> {
  return withCatalog(collections.catalog, async (catalog) => {
    const relation = requireWritableBy(caller, catalog, table)
    const reader = readerOf(caller)
    const parsed = parseCreateQuery(query)
    const answer = planAnswer(catalog, relation, parsed, reader)
    if (answer !== undefined) requireTables(caller, relationsOf(answer))
    const record = parseRecordBody(relation, body, 'create')
    const context = { catalog, caller, reader, shape: query }
    const isTagged = isRequested && !relation.isInShards
    const { conflict } = parsed
    const write = (inner: Collections, by: WriteContext, written: RecordBody) => {
      const common = { relation, body: written, answer, isTagged }
      if (conflict === undefined) return insert(inner, by, common)
      const plan = planUpsert(relation, conflict, written.columns)
      return upsert(inner, by, { ...common, plan, precondition })
    }
    if (conflict === undefined) {
      // The record does not exist before.
      if (precondition !== undefined) throw preconditionFailed(undefined)
    } else {
      const { action } = planUpsert(relation, conflict, record.columns)
      if (precondition !== undefined && action === 'ignore') {
        throw collectionErrors.preconditionNotSupported('expected only with onConflictAction=update')
      }
    }
    const mayUpdate = conflict?.action === 'update'
    const hooks = findHooks(
      collections,
      relation,
      ...(mayUpdate ? (['create', 'update'] as const) : (['create'] as const)),
    )
    if (hooks === undefined) return await write(collections, context, record)
    return await writeWithHooks(collections, caller, { isSingle: true }, async (hooked) => {
      const change = { operation: mayUpdate ? 'upsert' : 'create', body: record } as const
      const [changed = record] = await passHooks(hooked, hooks, relation, [change])
      return await write(hooked.collections, { ...context, caller: hooked.caller }, changed)
    })
  }).catch(explainingRefusal)
}

async function insert(
  collections: Collections,
  context: WriteContext,
  { isTagged = false, ...write }: Omit<RecordWrite, 'action' | 'id'>,
): Promise<UpsertResult> {
  return await writeRecord(
    collections,
    context,
    { action: 'create', id: [], isTagged, ...write },
    (written) => ({ isCreated: true, ...readWritten(written, isTagged) }),
  )
}

async function upsert(
  collections: Collections,
  context: WriteContext,
  write: Omit<RecordWrite, 'action' | 'id'> & { readonly plan: UpsertPlan },
): Promise<UpsertResult> {
  const { relation, body, answer, plan, precondition, isTagged } = write
  const steps = upsertSteps(collections, { ...context, ...write, requiresRow: precondition !== undefined })
  const work = writeOf(answer === undefined ? [relation] : relationsOf(answer), body)
  const run = { write: steps.write, capture: steps.capture, further: steps.read }
  const attempt = () =>
    runWrite(collections, context, work, run, ([wrote, found]) => readUpsert(plan, wrote, found, isTagged))
  const checked = checkedUpsert(collections, context, write)
  return await runChecked(
    collections,
    context.caller,
    checked,
    () =>
      attempt().catch((error) => {
        if (error instanceof StatementFailed && mayFindKeyNow(error.error)) return attempt()
        throw error
      }),
    (_failure, exists) => (exists ? collectionErrors.rowDiscarded() : preconditionFailed(undefined)),
  )
}
