import { asText, ok, operation } from '../../../../http/operation.ts'
import { Type } from '../../../../lib/type.ts'
import { withCatalog } from '../access/catalog-access.ts'
import { preconditionOf, type WriteConditions } from '../access/precondition.ts'
import { tagWritten, type VersionedRecord } from '../access/representation.ts'
import type { Collections } from '../collections.ts'
import { findHooks, passHooks, writeWithHooks } from '../hooks/pass-hooks.ts'
import { recordParams, recordPath, writingOne } from '../operation.ts'
import { parseRecordQuery } from '../parse/list-query.ts'
import { parseRecordBody, type RecordBody } from '../parse/record-body.ts'
import { parsePathId } from '../parse/record-id.ts'
import { planAnswer, relationsOf } from '../plan/record.ts'
import { recordQuery } from '../query-schemas.ts'
import { readerOf, requireTables } from '../read/reading.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { explainingRefusal } from './refusal.ts'
import { readWritten, requireWritableBy, type WriteContext, writeRecord } from './writes.ts'

export const update = operation({
  ...writingOne('update'),
  id: 'collections.update',
  method: 'PATCH',
  path: recordPath,
  summary: 'Change the given fields of a record',
  params: recordParams,
  query: Type.Object(recordQuery),
  body: TableRecord,
  success: asText(ok(TableRecord)),
  async handle(collections: Collections, { http }, reply) {
    const precondition = preconditionOf(http)
    const written = await updateRecord(collections, requestOf(http, reply), { precondition, isTagged: true })
    tagWritten(reply, written)
    return written.record
  },
})

export function updateRecord(
  collections: Collections,
  { caller, table, id = '', body = '', query = '' }: CollectionRequest,
  { precondition, isTagged: isRequested = false }: WriteConditions = {},
): Promise<VersionedRecord> {
  return withCatalog(collections.catalog, async (catalog) => {
    const relation = requireWritableBy(caller, catalog, table)
    const reader = readerOf(caller)
    const key = parsePathId(relation, id)
    const answer = planAnswer(catalog, relation, parseRecordQuery(query), reader)
    if (answer !== undefined) requireTables(caller, relationsOf(answer))
    const record = parseRecordBody(relation, body, 'update')
    const isTagged = isRequested && !relation.isInShards
    const context = { catalog, caller, reader, shape: query }
    const write = (inner: Collections, by: WriteContext, written: RecordBody) =>
      writeRecord(
        inner,
        by,
        { action: 'update', relation, body: written, id: key, answer, precondition, isTagged },
        (answered) => readWritten(answered, isTagged),
      )
    const hooks = findHooks(collections, relation, 'update')
    if (hooks === undefined) return await write(collections, context, record)
    return await writeWithHooks(collections, caller, { isSingle: true }, async (hooked) => {
      const change = { operation: 'update', id: key, body: record } as const
      const [changed = record] = await passHooks(hooked, hooks, relation, [change])
      return await write(hooked.collections, { ...context, caller: hooked.caller }, changed)
    })
  }).catch(explainingRefusal)
}
