import { noContent, operation } from '../../../../http/operation.ts'
import { withCatalog } from '../access/catalog-access.ts'
import type { Collections } from '../collections.ts'
import { recordParams, recordPath, writing } from '../operation.ts'
import { readParameters } from '../parse/parameters.ts'
import { parsePathId } from '../parse/record-id.ts'
import { readerOf } from '../read/reading.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { nothingWritten, requireWritableBy, writeRecord } from './writes.ts'

export const remove = operation({
  ...writing('delete'),
  id: 'collections.delete',
  method: 'DELETE',
  path: recordPath,
  summary: 'Delete a record',
  params: recordParams,
  success: noContent,
  handle: (collections: Collections, { http }, reply) => deleteRecord(collections, requestOf(http, reply)),
})

export function deleteRecord(
  collections: Collections,
  { caller, table, id = '', query = '' }: CollectionRequest,
): Promise<void> {
  return withCatalog(collections.catalog, async (catalog) => {
    const relation = requireWritableBy(caller, catalog, table)
    const key = parsePathId(relation, id)
    readParameters(query, [])
    await writeRecord(
      collections,
      { catalog, caller, reader: readerOf(caller), shape: '' },
      { action: 'delete', relation, body: nothingWritten, id: key },
      () => undefined,
    )
  })
}
