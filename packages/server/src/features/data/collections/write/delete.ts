import { noContent, operation } from '../../../../http/operation.ts'
import type { Caller } from '../access/caller.ts'
import { withCatalog } from '../access/catalog-access.ts'
import { type Precondition, preconditionOf } from '../access/precondition.ts'
import type { Collections } from '../collections.ts'
import { findHooks, passHooks, writeWithHooks } from '../hooks/pass-hooks.ts'
import { recordParams, recordPath, writingOne } from '../operation.ts'
import { readParameters } from '../parse/parameters.ts'
import { parsePathId } from '../parse/record-id.ts'
import { readerOf } from '../read/reading.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { nothingWritten, requireWritableBy, writeRecord } from './writes.ts'

export const remove = operation({
  ...writingOne('delete'),
  id: 'collections.delete',
  method: 'DELETE',
  path: recordPath,
  summary: 'Delete a record',
  params: recordParams,
  success: noContent,
  handle: (collections: Collections, { http }, reply) =>
    deleteRecord(collections, requestOf(http, reply), preconditionOf(http)),
})

export function deleteRecord(
  collections: Collections,
  { caller, table, id = '', query = '' }: CollectionRequest,
  precondition?: Precondition,
): Promise<void> {
  return withCatalog(collections.catalog, async (catalog) => {
    const relation = requireWritableBy(caller, catalog, table)
    const key = parsePathId(relation, id)
    readParameters(query, [])
    const write = (inner: Collections, by: Caller) =>
      writeRecord(
        inner,
        { catalog, caller: by, reader: readerOf(caller), shape: '' },
        { action: 'delete', relation, body: nothingWritten, id: key, precondition },
        () => undefined,
      )
    const hooks = findHooks(collections, relation, 'delete')
    if (hooks === undefined) return await write(collections, caller)
    await writeWithHooks(collections, caller, { isSingle: true }, async (hooked) => {
      await passHooks(hooked, hooks, relation, [{ operation: 'delete', id: key }])
      await write(hooked.collections, hooked.caller)
    })
  })
}
