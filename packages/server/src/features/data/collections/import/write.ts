import { setTimeout as delay } from 'node:timers/promises'
import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { type Capture, type ChangeLog, isNotCaptured } from '../../../../database/change-log.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { definitionError, originOf } from '../../../../database/errors/definition-faults.ts'
import { conflictCodes } from '../../../../database/errors/retry.ts'
import type { Database } from '../../../../database/open.ts'
import { sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import type { KeySteps, WritesOnce } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { StatementCache } from '../statement-cache.ts'
import { createCaptureFinder } from '../write/capture.ts'
import type { ImportProgress } from './background.ts'
import type { FindCommitted } from './deferred.ts'
import { importErrors } from './errors.ts'
import type { ImportOptions } from './parameters.ts'
import type { ImportResult } from './result.ts'
import type { RowFaults } from './row-faults.ts'
import { insertRows } from './run.ts'
import type { Spool } from './spool.ts'

export interface RowWriterDeps {
  readonly database: Pick<Database, 'user' | 'aside'>
  readonly findCommitted: FindCommitted
  readonly writesOnce: WritesOnce
  readonly changes: ChangeLog
  /** Whether errors of the operator's own definitions carry the text of PostgreSQL for everybody. */
  readonly isDevelopment: boolean
  readonly timeoutSeconds: number
  /** Rows that the database may refuse in the mode `partial`. */
  readonly maxRefused: number
}

/** Rows that were received, from whom and for what. */
export interface ReceivedRows {
  readonly caller: Caller
  readonly catalog: Catalog
  readonly relation: Relation
  readonly spool: Spool
}

export interface WriteTerms {
  readonly options: ImportOptions
  readonly signal: AbortSignal
  /** Where the client does not wait. */
  readonly progress?: ImportProgress
}

/** @throws AppError import_failed when rows are refused and the mode is full, import_timeout, import_lost */
export type WriteRows = (rows: ReceivedRows, terms: WriteTerms) => Promise<ImportResult>

/** Of an import that collides with other transactions. */
const attempts = 5

/** Writes the rows of an import in one transaction, on a connection beside the pools. */
export function createRowWriter(deps: RowWriterDeps): WriteRows {
  const { database, writesOnce, changes, timeoutSeconds, maxRefused } = deps
  const statements = new StatementCache()
  const findCapture = createCaptureFinder(changes)

  /** What hands on the changes of each insert, in the message of the insert. */
  function captureSteps({ caller, relation }: ReceivedRows, isUpserting: boolean): Capture | undefined {
    const [action, form] = isUpserting ? (['upsert', 'upsert'] as const) : (['create', 'array'] as const)
    return findCapture({ relation, action, form, reader: caller.scope.kind })
  }

  /** What is done between begin and commit. */
  async function insertSpooled(
    transaction: UserTransaction,
    rows: ReceivedRows,
    { options, progress }: WriteTerms,
    { reserve, store }: KeySteps<ImportResult>,
  ): Promise<ImportResult> {
    const { caller, catalog, relation, spool } = rows
    const { run } = transaction
    const { isPartial, onConflict } = options
    const faults = spool.faults.copy()
    const capture = captureSteps(rows, onConflict === 'update')
    const insert = { onConflict, reader: caller.scope.kind, isCaptured: capture?.takesChanges === true }
    await reserve(run)
    await run([statements.call(sql`savepoint import`)])
    progress?.restart()
    const plan = {
      catalog,
      relation,
      insert,
      capture: capture?.after ?? [],
      faults,
      isPartial,
      maxRefused,
      statements,
      findCommitted: deps.findCommitted,
      progress,
    }
    const counts = await insertRows(transaction, spool, plan)
    const skipped = spool.rowCount - faults.count - counts.inserted - counts.updated
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
  }

  async function attempt(
    rows: ReceivedRows,
    terms: WriteTerms,
    keySteps: KeySteps<ImportResult>,
  ): Promise<ImportResult> {
    const { scope, origin } = rows.caller
    const { signal } = terms
    const connection = await database.aside.openFor(scope)
    const cancel = () => void database.aside.cancel(connection)
    signal.addEventListener('abort', cancel)
    try {
      const settings = { statement_timeout: `${timeoutSeconds}s` }
      return await database.user.transaction(connection, scope, { origin: origin?.(), settings }, (begun) => {
        const run = async (steps: readonly Step[]) => {
          signal.throwIfAborted()
          return await begun.run(steps)
        }
        return insertSpooled({ ...begun, run }, rows, terms, keySteps)
      })
    } finally {
      signal.removeEventListener('abort', cancel)
      await connection.close()
    }
  }

  return async (rows, terms) => {
    const { caller, relation } = rows
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
    const signal = AbortSignal.any([terms.signal, timeout])
    for (let number = 1; ; number += 1) {
      try {
        return await writesOnce.runLong<ImportResult>(caller.key, (keySteps) =>
          attempt(rows, { ...terms, signal }, keySteps),
        )
      } catch (error) {
        if (timeout.aborted) throw importErrors.importTimeout()
        if (!(error instanceof StatementFailed)) throw error
        if (isNotCaptured(error) && number < attempts) {
          changes.doubt(relation)
          continue
        }
        const { code = '' } = error.error
        // Nothing has happened yet, and the rows are still there.
        if (conflictCodes.has(code) && number < attempts && !signal.aborted) {
          // Transactions that collided must not do so again at once.
          await delay(Math.random() * 50 * number)
          continue
        }
        // Values were looked at by themselves.
        const origin = originOf(error.error)
        throw origin === 'definition' || origin === 'unplaced'
          ? definitionError(error.error, relation.collection, deps.isDevelopment || caller.isAdministrator)
          : error
      }
    }
  }
}

function describeFaults(faults: RowFaults): Pick<ImportResult, 'failed' | 'errors'> {
  return { failed: faults.count, ...(faults.count === 0 ? {} : { errors: faults.listed }) }
}

function refuseAll(result: ImportResult): Error {
  return importErrors
    .importFailed(result.failed)
    .with({ members: { ...result, inserted: 0, updated: 0, skipped: 0 } })
}
