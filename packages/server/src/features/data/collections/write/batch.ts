import { asText, ok, operation } from '../../../../http/operation.ts'
import { choice, component } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { withCatalog } from '../access/catalog-access.ts'
import { refusePrecondition } from '../access/precondition.ts'
import { admitWhere, isAnyWritable } from '../access/public-access.ts'
import type { Collections } from '../collections.ts'
import { collectionPath, tableParams, writing, writingAnywhere } from '../operation.ts'
import { parseBatch, tableOf, tableOfEach } from '../parse/batch.ts'
import { readParameters } from '../parse/parameters.ts'
import { type CollectionRequest, requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { runBatch } from './run-batch.ts'
import { requireWritableBy } from './writes.ts'

const BatchOperation = component(
  'BatchOperation',
  Type.Object({
    method: choice(['create', 'update', 'delete']),
    id: Type.Optional(Type.Unknown({ description: 'String or number; for update and delete.' })),
    body: Type.Optional(TableRecord),
    ifMatch: Type.Optional(
      Type.String({
        description:
          'Entity tags of the record, or `*`, as in the header `If-Match`. The whole batch is a 412 `precondition_failed` when the record has another version.',
      }),
    ),
    onConflict: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description: 'Columns of a unique key, for a create. A record that has the same key is updated.',
      }),
    ),
    onConflictAction: Type.Optional(choice(['update', 'ignore'])),
  }),
)

const BatchOperationAcross = component(
  'BatchOperationAcross',
  Type.Object({
    table: Type.String({ description: 'The collection of this operation.' }),
    ...BatchOperation.properties,
  }),
)

const BatchResult = component(
  'BatchResult',
  Type.Object({
    index: Type.Integer(),
    status: Type.Integer({
      description: '201 for a create, 200 for an update or a create that found its key, 204 for a delete.',
    }),
    body: Type.Optional(TableRecord),
    etag: Type.Optional(
      Type.String({ description: 'Entity tag of the created or updated record, for `ifMatch`.' }),
    ),
  }),
)

const etags = Type.Optional(
  Type.Boolean({ description: 'True if results have entity tags. Default: false.' }),
)

export const batch = operation({
  ...writing('insert', 'update', 'delete'),
  id: 'collections.batch',
  countsOperations: true,
  method: 'POST',
  path: `${collectionPath}/batch`,
  summary: 'Run up to 1000 operations on one table in one transaction',
  params: tableParams,
  body: Type.Object({
    operations: Type.Array(BatchOperation, { minItems: 1, maxItems: 1000 }),
    etags,
  }),
  success: asText(ok(Type.Array(BatchResult))),
  handle(collections: Collections, { http }, reply) {
    refusePrecondition(http)
    return batchRecords(collections, requestOf(http, reply))
  },
})

export function batchRecords(
  collections: Collections,
  { caller, table, body = '', query = '', countOperations }: CollectionRequest,
): Promise<string> {
  return withCatalog(collections.catalog, async (catalog) => {
    const batch = await readCounted(countOperations, () => {
      const relation = requireWritableBy(caller, catalog, table)
      readParameters(query, [])
      return parseBatch(body, tableOf(relation))
    })
    return await runBatch(collections, { catalog, caller, ...batch })
  })
}

export const batchAcross = operation({
  ...writingAnywhere,
  admitsAnonymous: (request, { catalog }: Collections) => admitWhere(catalog, isAnyWritable, request),
  id: 'collections.batchAcross',
  countsOperations: true,
  method: 'POST',
  path: '/api/batch',
  summary: 'Run up to 1000 operations on several tables in one transaction',
  body: Type.Object({
    operations: Type.Array(BatchOperationAcross, { minItems: 1, maxItems: 1000 }),
    etags,
  }),
  success: asText(ok(Type.Array(BatchResult))),
  handle(collections: Collections, { http }, reply) {
    refusePrecondition(http)
    const { caller, body, query, countOperations } = requestOf(http, reply)
    return withCatalog(collections.catalog, async (catalog) => {
      const batch = await readCounted(countOperations, () => {
        readParameters(query, [])
        return parseBatch(
          body,
          tableOfEach((table) => requireWritableBy(caller, catalog, table)),
        )
      })
      return await runBatch(collections, { catalog, caller, ...batch })
    })
  },
})

/** Reads a batch, which counts by its operations. An invalid one counts as one request. @throws AppError */
async function readCounted<Read extends { readonly operations: readonly unknown[] }>(
  count: CollectionRequest['countOperations'],
  read: () => Read,
): Promise<Read> {
  let batch: Read
  try {
    batch = read()
  } catch (error) {
    await count?.(1)
    throw error
  }
  await count?.(batch.operations.length)
  return batch
}
