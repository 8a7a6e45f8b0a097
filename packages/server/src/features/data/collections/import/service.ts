import { createHash, type Hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Step } from '../../../../database/caller-steps.ts'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { ChangeLog } from '../../../../database/change-log.ts'
import { definitionError, isDefinitionFault } from '../../../../database/error-translation.ts'
import { StatementFailed } from '../../../../database/message.ts'
import type { Database } from '../../../../database/open.ts'
import { conflictCodes } from '../../../../database/retry.ts'
import { sql } from '../../../../database/sql.ts'
import { requireTable } from '../../../../http/grants.ts'
import { createSlots } from '../../../operations/throttle/index.ts'
import { type KeySteps, type WritesOnce, withBody } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { requireWritable } from '../access/catalog-access.ts'
import { collectionErrors } from '../errors.ts'
import type { Reader } from '../plan/reader.ts'
import { StatementCache } from '../statement-cache.ts'
import { createCaptureFinder } from '../write/capture.ts'
import type { BackgroundImports, ImportProgress, ImportStatus } from './background.ts'
import { importErrors } from './errors.ts'
import type { ImportOptions } from './parameters.ts'
import type { ImportFormat } from './records.ts'
import type { ImportResult } from './result.ts'
import type { RowFaults } from './row-faults.ts'
import { insertRows } from './run.ts'
import { type Spool, spoolRows } from './spool.ts'

export interface ImportDeps {
  readonly catalog: LiveCatalog
  readonly database: Pick<Database, 'user' | 'aside'>
  readonly writesOnce: WritesOnce
  readonly changes: ChangeLog
  /** Whether errors of the operator's own definitions carry the text of PostgreSQL for everybody. */
  readonly isDevelopment: boolean
  readonly limits: ImportLimits
  readonly background: BackgroundImports
}

export interface ImportLimits {
  readonly maxSizeMb: number
  readonly maxRows: number
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

/** How the rows of a request are written. */
interface Written extends Pick<ImportRequest, 'options' | 'signal'> {
  /** Where the client does not wait. */
  readonly progress?: ImportProgress
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
/** Of an import that collides with other transactions. */
const attempts = 5

export function createImporter(deps: ImportDeps): Importer {
  const { catalog: live, database, writesOnce, changes, limits, background } = deps
  const statements = new StatementCache()
  const findCapture = createCaptureFinder(changes, statements)
  const slots = createSlots()

  /** What hands on the changes of each insert, in the message of the insert. */
  function captureSteps(
    catalog: Catalog,
    relation: Relation,
    reader: Reader,
    isUpserting: boolean,
  ): readonly Step[] {
    const [action, form] = isUpserting ? (['upsert', 'upsert'] as const) : (['create', 'array'] as const)
    // What comes before a write is for one row, whose key is known.
    const after = findCapture({ catalog, relation, action, form, reader, slots: {} })?.after ?? []
    return after.map((step) => ({ ...step, asLogin: true }))
  }

  async function attempt(
    caller: Caller,
    catalog: Catalog,
    relation: Relation,
    spool: Spool,
    { options, signal, progress }: Written,
    { reserve, store }: KeySteps<ImportResult>,
  ): Promise<ImportResult> {
    const faults = spool.faults.copy()
    const reader = caller.scope.kind
    const { onConflict } = options
    const capture = captureSteps(catalog, relation, reader, onConflict === 'update')
    const insert = { onConflict, reader, isCaptured: capture.length > 0 }
    const connection = await database.aside.open()
    const cancel = () => void database.aside.cancel(connection)
    signal.addEventListener('abort', cancel)
    try {
      return await database.user.transaction(
        connection,
        caller.scope,
        {
          origin: caller.origin?.(),
          settings: { statement_timeout: `${limits.timeoutSeconds}s` },
        },
        async (transaction) => {
          const run = async (steps: readonly Step[]) => {
            signal.throwIfAborted()
            return await transaction.run(steps)
          }
          await reserve(run)
          await run([statements.call(sql`savepoint import`)])
          progress?.restart()
          const { isPartial } = options
          const plan = { catalog, relation, insert, capture, faults, isPartial, statements, progress }
          const counts = await insertRows({ ...transaction, run }, spool, plan)
          const touched = counts.inserted + counts.updated
          const skipped = spool.rowCount - faults.count - touched
          const result = { processed: spool.rowCount, ...counts, skipped, ...describeFaults(faults) }
          if (faults.count > 0 && !isPartial) throw refuseAll(result)
          if (options.isDryRun) await run([statements.call(sql`rollback to savepoint import`)])
          const answer: ImportResult = options.isDryRun ? { ...result, dryRun: true } : result
          await store(run, answer)
          if (progress !== undefined) {
            await progress.stopSaving()
            const end = { ...statements.call(progress.end(answer)), asLogin: true }
            const [ended] = await run([end])
            if (ended?.count !== 1) throw importErrors.importLost()
          }
          return answer
        },
      )
    } finally {
      signal.removeEventListener('abort', cancel)
      await connection.close()
    }
  }

  async function insertSpooled(
    caller: Caller,
    catalog: Catalog,
    relation: Relation,
    spool: Spool,
    request: Written,
  ): Promise<ImportResult> {
    const timeout = AbortSignal.timeout(limits.timeoutSeconds * 1000)
    const signal = AbortSignal.any([request.signal, timeout])
    for (let number = 1; ; number += 1) {
      try {
        return await writesOnce.runLong<ImportResult>(caller.key, (steps) =>
          attempt(caller, catalog, relation, spool, { ...request, signal }, steps),
        )
      } catch (error) {
        if (timeout.aborted) throw importErrors.importTimeout()
        if (!(error instanceof StatementFailed)) throw error
        const { code = '' } = error.error
        // Nothing has happened yet, and the rows are still there.
        if (conflictCodes.has(code) && number < attempts && !signal.aborted) {
          // Transactions that collided must not do so again at once.
          await delay(Math.random() * 50 * number)
          continue
        }
        throw isDefinitionFault(error.error)
          ? definitionError(error.error, relation.collection, deps.isDevelopment || caller.isAdministrator)
          : error
      }
    }
  }

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
    const spool = await slots.take('upload', uploadWidth, () =>
      spoolRows(body, relation, request.format, spoolLimits),
    )
    const key = caller.key && digest && withBody(caller.key, digest.digest('hex'))
    return {
      rowsRead: spool.rowCount,
      async write(written: Written): Promise<ImportResult> {
        const result = await slots.take('database', databaseWidth, () =>
          insertSpooled({ ...caller, key }, catalog, relation, spool, written),
        )
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

function describeFaults(faults: RowFaults): Pick<ImportResult, 'failed' | 'errors'> {
  return { failed: faults.count, ...(faults.count === 0 ? {} : { errors: faults.listed }) }
}

function refuseAll(result: ImportResult): Error {
  return importErrors
    .importFailed(result.failed)
    .with({ members: { ...result, inserted: 0, updated: 0, skipped: 0 } })
}
