import { createHash, type Hash } from 'node:crypto'
import type { Relation } from '../../../../database/catalog/model.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import { withBody } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { requireWritable } from '../access/catalog-access.ts'
import { collectionErrors } from '../errors.ts'
import type { Imports } from './imports.ts'
import type { ImportOptions } from './parameters.ts'
import type { ImportFormat } from './records.ts'
import type { ImportResult } from './result.ts'
import { spoolRows } from './spool.ts'
import { type WriteTerms, writeRows } from './write.ts'

export interface ImportRequest {
  readonly collection: string
  readonly format: ImportFormat
  readonly options: ImportOptions
  readonly body: AsyncIterable<Buffer>
  /** Signal that aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** Maximum number of imports of this node that receive their body concurrently. It goes to the disk. */
const uploadWidth = 16
/**
 * Maximum number of imports of this node that work in the database concurrently, each on a connection outside the
 * pools.
 */
const databaseWidth = 2

/** Receives the rows of the body. The result can write them. */
export async function receiveImport(imports: Imports, caller: Caller, request: ImportRequest) {
  const { catalog: live, limits, slots } = imports
  requireTable(caller.scope, request.collection)
  // The body can be read only once, so there is no second attempt with a newer catalog.
  await live.refresh()
  const relation = requireWritable(live.current, request.collection, caller.scope.kind)
  if (request.options.onConflict !== undefined) requireConflictKey(relation)
  const spoolLimits = {
    bytes: limits.maxSizeMb * 1024 * 1024,
    rows: limits.maxRows,
    rowSize: limits.rowBytes,
  }
  const digest = caller.key && createHash('sha256')
  const body = digest === undefined ? request.body : digesting(request.body, digest)
  const spool = await slots.take(
    'upload',
    uploadWidth,
    () => spoolRows(body, relation, request.format, spoolLimits),
    request.signal,
  )
  const key = caller.key && digest && withBody(caller.key, digest.digest('hex'))
  const rows = { caller: { ...caller, key }, relation, spool }
  return {
    rowsRead: spool.rowCount,
    async write(terms: WriteTerms): Promise<ImportResult> {
      const write = () => writeRows(imports, rows, terms)
      const result = await slots.take('database', databaseWidth, write, terms.signal)
      imports.changes.committed()
      return result
    },
    [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
  }
}

/** @throws AppError no_primary_key, invalid_parameter where PostgreSQL cannot meet a conflict with the key */
function requireConflictKey({ primaryKey, conflictKeys, collection }: Relation): void {
  if (primaryKey.length === 0) throw collectionErrors.noPrimaryKey()
  const isKnown = conflictKeys.some(
    (key) => key.length === primaryKey.length && key.every((column) => primaryKey.includes(column)),
  )
  if (isKnown) return
  throw collectionErrors.invalidParameter(
    `on_conflict: the primary key of "${collection}" is deferrable or allows no overlaps`,
  )
}

async function* digesting(body: AsyncIterable<Buffer>, digest: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    digest.update(chunk)
    yield chunk
  }
}
