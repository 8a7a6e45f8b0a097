import { createHash, type Hash } from 'node:crypto'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import { createSlots } from '../../../operations/throttle/index.ts'
import { withBody } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { requireWritable } from '../access/catalog-access.ts'
import { collectionErrors } from '../errors.ts'
import type { BackgroundImports, ImportStatus } from './background.ts'
import type { ImportOptions } from './parameters.ts'
import type { ImportFormat } from './records.ts'
import type { ImportResult } from './result.ts'
import { spoolRows } from './spool.ts'
import { createRowWriter, type RowWriterDeps, type WriteTerms } from './write.ts'

export interface ImportDeps extends Omit<RowWriterDeps, 'timeoutSeconds' | 'maxRefused'> {
  readonly catalog: LiveCatalog
  readonly limits: ImportLimits
  readonly background: BackgroundImports
}

export interface ImportLimits {
  readonly maxSizeMb: number
  readonly maxRows: number
  /** Rows that the database may refuse in the mode `partial`. */
  readonly maxRefused: number
  readonly timeoutSeconds: number
  /** Of one row. */
  readonly rowBytes: number
}

export interface ImportRequest {
  readonly collection: string
  readonly format: ImportFormat
  readonly options: ImportOptions
  readonly body: AsyncIterable<Buffer>
  /** When the client disconnects. */
  readonly signal: AbortSignal
}

export interface Importer {
  /** @throws AppError import_failed when rows are refused and the mode is full */
  run(caller: Caller, request: ImportRequest): Promise<ImportResult>
  /**
   * Answers when the file is received; it is written afterwards, unless the client leaves before it has the answer.
   *
   * @throws AppError too_many_imports
   */
  start(caller: Caller, request: ImportRequest): Promise<ImportStatus>
  /** @throws AppError import_not_found */
  find(caller: Caller, collection: string, id: string): Promise<ImportStatus>
  /** @throws AppError import_not_found, import_has_ended */
  cancel(caller: Caller, collection: string, id: string): Promise<ImportStatus>
}

/** Imports of this node that receive their body at once; it goes to the disk. */
const uploadWidth = 16
/** Imports of this node that work in the database at once, each on a connection beside the pools. */
const databaseWidth = 2

export function createImporter(deps: ImportDeps): Importer {
  const { catalog: live, changes, limits, background } = deps
  const writeRows = createRowWriter({ ...deps, ...limits })
  const slots = createSlots()

  /** The rows of the body, and what writes them. */
  async function receive(caller: Caller, request: ImportRequest) {
    requireTable(caller.scope, request.collection)
    // The body can be read once only: there is no second attempt with a newer catalog.
    await live.refresh()
    const catalog = live.current
    const relation = requireWritable(catalog, request.collection, caller.scope.kind)
    if (request.options.onConflict !== undefined) requireConflictKey(relation)
    const spoolLimits = {
      bytes: limits.maxSizeMb * 1024 * 1024,
      rows: limits.maxRows,
      rowSize: limits.rowBytes,
    }
    const digest = caller.key && createHash('sha256')
    const body = digest === undefined ? request.body : digesting(request.body, digest)
    const { signal } = request
    const spool = await slots.take(
      'upload',
      uploadWidth,
      () => spoolRows(body, relation, request.format, spoolLimits),
      signal,
    )
    const key = caller.key && digest && withBody(caller.key, digest.digest('hex'))
    return {
      rowsRead: spool.rowCount,
      async write(terms: WriteTerms): Promise<ImportResult> {
        const rows = { caller: { ...caller, key }, catalog, relation, spool }
        const result = await slots.take('database', databaseWidth, () => writeRows(rows, terms), terms.signal)
        changes.committed()
        return result
      },
      [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
    }
  }

  return {
    async run(caller, request) {
      await using received = await receive(caller, request)
      return await received.write(request)
    },

    async start(caller, request) {
      const { collection, options, signal } = request
      const owner = ownerOf(caller)
      const status = await background.start({ collection, owner }, async () => {
        const received = await receive(caller, request)
        return {
          ...received,
          write: (progress) => received.write({ options, signal: progress.signal, progress }),
        }
      })
      // A client that leaves before it has the id can neither follow nor cancel it. One that has ended stays so.
      const cancel = () => void background.cancel(collection, status.id, owner).catch(() => undefined)
      if (signal.aborted) cancel()
      else signal.addEventListener('abort', cancel)
      return status
    },

    find(caller, collection, id) {
      requireTable(caller.scope, collection)
      return background.find(collection, id, ownerOf(caller))
    },

    cancel(caller, collection, id) {
      requireTable(caller.scope, collection)
      return background.cancel(collection, id, ownerOf(caller))
    },
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

/** Null for an administrator, and while auth is off. */
function ownerOf({ scope }: Caller): string | null {
  return scope.kind === 'caller' ? scope.userId : null
}
