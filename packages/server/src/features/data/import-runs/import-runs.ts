import type { Logger } from 'pino'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { AppError, messageOf } from '../../../lib/errors.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import {
  type BackgroundImports,
  type ImportRun,
  importErrors,
  type ReceivedImport,
} from '../collections/index.ts'
import {
  cancelImport,
  failImport,
  failLostImport,
  findImport,
  insertImport,
  saveProgress,
  succeedImport,
} from './queries.ts'

/** Interval at which progress is saved and the lease renewed. */
const saveMs = 1000
/** Maximum number of imports of this node that run or wait, each with a file on the disk. */
const width = 16

/** Imports whose clients do not wait for them. */
export class ImportRuns implements BackgroundImports {
  readonly #database: SystemDatabase
  readonly #log: Logger
  readonly #work = new WorkInFlight()
  /** Abort controllers of the imports of this node, by id. */
  readonly #cancelling = new Map<string, AbortController>()
  #reserved = 0

  constructor(database: SystemDatabase, log: Logger) {
    this.#database = database
    this.#log = log
  }

  async start(
    ...[{ collection, owner }, receive]: Parameters<BackgroundImports['start']>
  ): Promise<ImportRun> {
    if (this.#work.signal.aborted) throw httpErrors.shuttingDown().retryAfter(1)
    if (this.#reserved >= width) throw importErrors.tooManyImports().retryAfter(5)
    this.#reserved += 1
    try {
      const received = await receive()
      const status = await insertImport(this.#database, {
        collection,
        owner,
        rowsRead: received.rowsRead,
      }).catch(async (error) => {
        await received[Symbol.asyncDispose]()
        throw error
      })
      const running = this.#run(status.id, received).finally(() => {
        this.#reserved -= 1
      })
      void this.#work.add(running)
      return status
    } catch (error) {
      this.#reserved -= 1
      throw error
    }
  }

  async find(collection: string, id: string, owner: string | null): Promise<ImportRun> {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) throw importErrors.importNotFound()
    const isLost = (await failLostImport(this.#database, id, describe(importErrors.importLost()))) > 0
    if (isLost) this.#log.warn({ import: id }, 'an import was lost with its server; it has written nothing')
    const status = await findImport(this.#database, collection, id, owner)
    if (status === undefined) throw importErrors.importNotFound()
    return status
  }

  async cancel(collection: string, id: string, owner: string | null): Promise<ImportRun> {
    // A lost import has failed, and has an error.
    const { state } = await this.find(collection, id, owner)
    const abort = () => this.#cancelling.get(id.toLowerCase())?.abort(new Error('the import was canceled'))
    const canceled =
      state === 'running'
        ? await cancelImport(this.#database, collection, id, owner).catch((error) => {
            // Nothing is written, though the state is known only when the lease has ended.
            abort()
            throw error
          })
        : undefined
    if (canceled === undefined) {
      throw importErrors.importHasEnded((await this.find(collection, id, owner)).state)
    }
    abort()
    return canceled
  }

  stop(): Promise<void> {
    return this.#work.stop()
  }

  async #run(id: string, received: ReceivedImport): Promise<void> {
    let rowsWritten = 0
    let failed = 0
    let saved: Promise<unknown> = Promise.resolve()
    let isSaving = false
    const cancelling = new AbortController()
    this.#cancelling.set(id, cancelling)
    const save = () => {
      if (isSaving) return
      isSaving = true
      saved = saveProgress(this.#database, id, { rowsWritten, failed })
        .then((count) => {
          // The import was canceled on another node, or declared lost, so writing on is useless.
          if (count === 0) cancelling.abort(new Error('the import is no longer running'))
        })
        .catch((error) => this.#log.warn({ import: id, reason: messageOf(error) }, 'failed to save progress'))
        .finally(() => {
          isSaving = false
        })
    }
    let saving: NodeJS.Timeout | undefined
    const keepSaving = () => {
      clearInterval(saving)
      saving = setInterval(save, saveMs)
    }
    const stopSaving = async () => {
      clearInterval(saving)
      await saved
    }
    keepSaving()
    try {
      await received.write({
        signal: AbortSignal.any([this.#work.signal, cancelling.signal]),
        end: (result) => succeedImport(id, result),
        wrote(rows, refused) {
          rowsWritten += rows
          failed = refused
        },
        restart() {
          rowsWritten = 0
          failed = 0
          keepSaving()
        },
        stopSaving,
      })
    } catch (error) {
      await stopSaving()
      if (!cancelling.signal.aborted)
        await this.#fail(id, this.#work.signal.aborted ? httpErrors.shuttingDown() : error)
    } finally {
      clearInterval(saving)
      this.#cancelling.delete(id)
      await received[Symbol.asyncDispose]()
    }
  }

  async #fail(id: string, error: unknown): Promise<void> {
    const known =
      (error instanceof AppError ? error : translateDatabaseFailure(error)) ?? httpErrors.internalError()
    if (known.status === 500) this.#log.error({ err: error, import: id }, 'an import failed')
    else if (known.status > 500) this.#log.warn({ import: id, reason: known.message }, 'an import was ended')
    try {
      await failImport(this.#database, id, describe(known))
    } catch (failure) {
      // The import is found to be lost later.
      this.#log.warn({ import: id, reason: messageOf(failure) }, 'failed to save the end of an import')
    }
  }
}

/** Formats an error as in a response. */
function describe({ status, message, kind, extras }: AppError): object {
  return {
    code: status,
    message,
    error: kind,
    ...(extras.data === undefined ? {} : { data: extras.data }),
    ...extras.members,
  }
}
