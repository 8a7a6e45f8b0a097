import { setTimeout as delay } from 'node:timers/promises'
import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { isNotCaptured } from '../../../../database/change-log.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { definitionError, originOf } from '../../../../database/errors/definition-faults.ts'
import { conflictCodes } from '../../../../database/errors/retry.ts'
import { onConnection } from '../../../../database/on-connection.ts'
import { sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import type { KeySteps } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { findCapture } from '../write/capture.ts'
import type { ImportProgress } from './background.ts'
import { importErrors } from './errors.ts'
import { spoolAfterHooks } from './hooked-rows.ts'
import type { Imports } from './imports.ts'
import type { ImportOptions } from './parameters.ts'
import type { ImportResult } from './result.ts'
import type { RowFaults } from './row-faults.ts'
import { insertRows } from './run.ts'
import type { Spool } from './spool.ts'

/** Rows that were received, with their caller and options. */
export interface ReceivedRows {
  readonly caller: Caller
  readonly relation: Relation
  readonly spool: Spool
}

export interface WriteTerms {
  readonly options: ImportOptions
  readonly signal: AbortSignal
  /** Progress of the import, where the client does not wait. */
  readonly progress?: ImportProgress
}

/** Maximum number of attempts for an import that collides with other transactions. */
const attempts = 5

/**
 * Writes the rows of an import in one transaction, on a connection outside the pools.
 *
 * @throws AppError import_failed when rows are rejected and the mode is full, import_timeout, import_lost
 */
export async function writeRows(
  imports: Imports,
  rows: ReceivedRows,
  terms: WriteTerms,
): Promise<ImportResult> {
  const { caller, relation } = rows
  const timeout = AbortSignal.timeout(imports.limits.timeoutSeconds * 1000)
  const signal = AbortSignal.any([terms.signal, timeout])
  for (let number = 1; ; number += 1) {
    try {
      const result = await imports.writesOnce.runLong<ImportResult>(caller.key, (keySteps) =>
        attempt(imports, rows, { ...terms, signal }, keySteps),
      )
      // The response to an import in the background was sent before.
      if (terms.progress === undefined) {
        await imports.database.user.reportPosition(caller.scope, caller.onPosition)
      }
      return result
    } catch (error) {
      if (timeout.aborted) throw importErrors.importTimeout()
      if (!(error instanceof StatementFailed)) throw error
      if (isNotCaptured(error) && number < attempts) {
        imports.changes.doubt(relation)
        continue
      }
      const { code = '' } = error.error
      // Nothing was written yet, and the spool still has the rows.
      if (conflictCodes.has(code) && number < attempts && !signal.aborted) {
        // Colliding transactions must not retry at the same moment.
        await delay(Math.random() * 50 * number)
        continue
      }
      // The values were checked by themselves.
      const origin = originOf(error.error)
      throw origin === 'definition' || origin === 'unknown'
        ? definitionError(error.error, relation.collection, imports.isDevelopment || caller.isAdministrator)
        : error
    }
  }
}

async function attempt(
  imports: Imports,
  rows: ReceivedRows,
  terms: WriteTerms,
  keySteps: KeySteps<ImportResult>,
): Promise<ImportResult> {
  const { database, limits } = imports
  const { scope, origin } = rows.caller
  const { signal } = terms
  const settings = { statement_timeout: `${limits.timeoutSeconds}s` }
  return await onConnection(database.aside, await database.aside.openFor(scope), signal, (connection) =>
    database.user.transaction(connection, scope, { origin: origin?.(), settings }, (begun) => {
      const run = async (steps: readonly Step[]) => {
        signal.throwIfAborted()
        return await begun.run(steps)
      }
      return insertSpooled(imports, { ...begun, run }, rows, terms, keySteps)
    }),
  )
}

/** Inserts the spooled rows between begin and commit. */
async function insertSpooled(
  imports: Imports,
  transaction: UserTransaction,
  { caller, relation, spool: received }: ReceivedRows,
  { options, signal, progress }: WriteTerms,
  { reserve, store }: KeySteps<ImportResult>,
): Promise<ImportResult> {
  const { statements, changes, findCommitted } = imports
  const { run } = transaction
  const { isPartial, onConflict } = options
  const reader = caller.scope.kind
  // The changes of each insert are delivered in its message.
  const capture = findCapture(changes, {
    relation,
    reader,
    ...(onConflict === 'update'
      ? ({ action: 'upsert', form: 'upsert' } as const)
      : ({ action: 'create', form: 'array' } as const)),
  })
  await reserve(run)
  await run([statements.call(sql`savepoint import`)])
  progress?.restart()
  await using hooked = await spoolAfterHooks(
    imports,
    transaction,
    // Hooks end with the import, which may outlast the request.
    { caller: { ...caller, signal: () => signal }, relation, spool: received },
    options,
  )
  const spool = hooked ?? received
  const faults = spool.faults.copy()
  const counts = await insertRows(transaction, spool, {
    relation,
    insert: { onConflict, reader, isCaptured: capture?.takesChanges === true },
    capture: capture?.after ?? [],
    faults,
    isPartial,
    maxRefused: imports.limits.maxRefused,
    statements,
    findCommitted,
    progress,
  })
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

function describeFaults(faults: RowFaults): Pick<ImportResult, 'failed' | 'errors'> {
  return { failed: faults.count, ...(faults.count === 0 ? {} : { errors: faults.listed }) }
}

function refuseAll(result: ImportResult): Error {
  return importErrors
    .importFailed(result.failed)
    .with({ members: { ...result, inserted: 0, updated: 0, skipped: 0 } })
}
