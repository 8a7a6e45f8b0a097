import { requireTable } from '../../../../http/access/grants.ts'
import { asText, ok, operation } from '../../../../http/operation.ts'
import { Type } from '../../../../lib/type.ts'
import { requireRelation } from '../access/catalog-access.ts'
import { meetsPrecondition, preconditionFailed, preconditionOf } from '../access/precondition.ts'
import { tagOf, tagRecord, type VersionedRecord } from '../access/representation.ts'
import { withCatalogOf } from '../access/viewer-catalog.ts'
import type { Collections } from '../collections.ts'
import { compileGet, writeSlots } from '../compile/write.ts'
import { recordParams, recordPath, viewing } from '../operation.ts'
import { parseRecordQuery } from '../parse/list-query.ts'
import { parsePathId } from '../parse/record-id.ts'
import { planRecord, relationsOf } from '../plan/record.ts'
import { recordQuery } from '../query-schemas.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { fill } from '../statement-cache.ts'
import { readerOf, readKey, requireRecord, requireTables, runRead } from './reading.ts'

export const get = operation({
  ...viewing,
  id: 'collections.get',
  method: 'GET',
  path: recordPath,
  summary: 'Get a record',
  params: recordParams,
  query: Type.Object(recordQuery),
  success: asText(ok(TableRecord)),
  isConditional: true,
  async handle(collections: Collections, { http, identity }, reply) {
    const found = await getRecord(collections, requestOf(http, reply))
    const precondition = preconditionOf(http)
    if (!meetsPrecondition(precondition, found.version)) throw preconditionFailed(tagOf(found))
    tagRecord(reply, identity, found)
    return found.record
  },
})

export function getRecord(
  collections: Collections,
  { caller, table, id = '', query = '' }: CollectionRequest,
): Promise<VersionedRecord> {
  return withCatalogOf(collections.catalog, caller, async (catalog) => {
    requireTable(caller.scope, table)
    const reader = readerOf(caller)
    const { statements } = collections
    const { record, template } = statements.remember(catalog, readKey('get', reader, table, query), () => {
      const relation = requireRelation(catalog, table, reader)
      const record = planRecord(catalog, relation, parseRecordQuery(query), reader)
      return { record, template: statements.template(compileGet(record)) }
    })
    const relations = relationsOf(record)
    requireTables(caller, relations)
    const call = fill(template, writeSlots('', parsePathId(record.relation, id)))
    const [answer] = await runRead(collections, caller, { relations }, [call])
    return { record: requireRecord(answer), version: answer?.rows[0]?.[1] ?? undefined }
  })
}
