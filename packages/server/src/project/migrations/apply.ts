import type { Connection } from '../../database/connection/connection.ts'
import { runStatement, withRemedy } from '../../database/errors/script-failure.ts'
import type { Database } from '../../database/open.ts'
import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { readSchema } from '../schema/objects.ts'
import { type MigrationSettings, pauseOrFail, setTimeouts } from './attempts.ts'
import type { MigrationFile } from './files.ts'
import { finish, insertStarted, listLedger, recordSchema } from './ledger.ts'
import { inMigrationTransaction } from './lock.ts'
import { planMigrations, requireNoObstacle } from './plan.ts'
import { recordChanges } from './recorded-schema.ts'
import { applyWithoutTransaction } from './without-transaction.ts'

/** Parts of an open database that migrations use. */
export type MigrationDatabase = Pick<Database, 'aside' | 'openListener'>

export interface ApplyOptions {
  readonly files: readonly MigrationFile[]
  readonly settings: MigrationSettings
  /** True if pending migrations may run that are older than an applied one. */
  readonly allowLate?: boolean
  /** True if the current schema is recorded as that of the migrations, whatever else has changed it. */
  readonly acceptDrift?: boolean
  readonly onApplied?: (applied: Applied) => void
  /** Runs after an attempt that could not get a lock. */
  readonly onRetry?: (message: string) => void
}

export interface Applied {
  readonly name: string
  readonly durationMs: number
  /** Number of attempts: 1 without a lock conflict. */
  readonly attempts: number
}

/**
 * Applies the pending migrations, each file once, on any number of concurrent nodes.
 *
 * @throws OperatorError
 */
export async function applyMigrations(
  database: MigrationDatabase,
  options: ApplyOptions,
): Promise<Applied[]> {
  const done: Applied[] = []
  const connection = await database.aside.open()
  try {
    for (;;) {
      const applied = await applyNext(database, connection, options)
      if (applied === undefined) break
      done.push(applied)
      options.onApplied?.(applied)
    }
    if (options.acceptDrift === true) {
      await inMigrationTransaction(connection, async (transaction) =>
        recordSchema(transaction, await readSchema(transaction)),
      )
    }
    return done
  } finally {
    await connection.close()
  }
}

/** Applies the next file; returns undefined when nothing is pending. */
async function applyNext(
  database: MigrationDatabase,
  connection: Connection,
  options: ApplyOptions,
): Promise<Applied | undefined> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptNext(connection, options, attempt)
    if (outcome === undefined) return undefined
    if (outcome === 'retry') continue
    const { file } = outcome
    // The file was found pending outside of the session that runs it, so another node may be quicker.
    if (!file.isTransaction && !(await applyAlone(database, file, options))) continue
    return { name: file.name, durationMs: Math.round(performance.now() - startedAt), attempts: attempt }
  }
}

function applyAlone(
  { openListener }: MigrationDatabase,
  file: MigrationFile,
  { files, settings, allowLate = false, onRetry }: ApplyOptions,
): Promise<boolean> {
  return applyWithoutTransaction(openListener, file, { files, settings, allowLate, onRetry })
}

/** Applies the next file if it is one transaction; otherwise it only finds the file. */
async function attemptNext(
  connection: Connection,
  { files, settings, allowLate = false, onRetry }: ApplyOptions,
  attempt: number,
): Promise<undefined | 'retry' | { readonly file: MigrationFile }> {
  let current: MigrationFile | undefined
  try {
    return await inMigrationTransaction(connection, async (transaction) => {
      const plan = planMigrations(files, await listLedger(transaction))
      requireNoObstacle(plan, allowLate)
      const [file] = plan.pending
      if (file === undefined) return undefined
      current = file
      if (!file.isTransaction) return { file }
      await runAndRecord(connection, transaction, file, settings)
      return { file }
    })
  } catch (error) {
    if (current === undefined) throw error
    await pauseOrFail(await withRemedy(connection, error), current, {
      number: attempt,
      isRepeatable: true,
      settings,
      onRetry,
    })
    return 'retry'
  }
}

/** Runs the statements of a file in the transaction, and records the file and its changes. */
export async function runAndRecord(
  connection: Connection,
  transaction: Queryable,
  file: MigrationFile,
  settings: MigrationSettings,
): Promise<void> {
  await insertStarted(transaction, file)
  // Printing policies locks their tables, too.
  await setTimeouts(transaction, settings, 'transaction')
  const before = await readSchema(transaction)
  for (const statement of file.statements) await runStatement(connection, statement)
  // The settings of the script must not outlast it.
  await transaction.count(sql`reset role`)
  await transaction.count(sql`reset all`)
  await setTimeouts(transaction, settings, 'transaction')
  await recordChanges(transaction, before)
  await finish(transaction, file.name, file.statements.length)
}
