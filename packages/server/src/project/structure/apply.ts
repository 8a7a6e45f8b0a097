import type { Connection } from '../../database/connection/connection.ts'
import { ScriptFailure, withRemedy } from '../../database/errors/script-failure.ts'
import type { Database } from '../../database/open.ts'
import { inTransaction, type Queryable, queryableOn } from '../../database/system-database.ts'
import { cutText } from '../../lib/cut-text.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { runAndRecord } from '../migrations/apply.ts'
import { type MigrationSettings, pauseOrFail } from '../migrations/attempts.ts'
import { type MigrationFile, nameMigration, parseMigration } from '../migrations/files.ts'
import { listLedger } from '../migrations/ledger.ts'
import { inMigrationTransaction } from '../migrations/lock.ts'
import { findObstacles, planMigrations } from '../migrations/plan.ts'
import { applyWithoutTransaction } from '../migrations/without-transaction.ts'
import { readSchema } from '../schema/objects.ts'
import { structureErrors } from './errors.ts'
import { type MigrationSource, openSource, showPath, writeFile } from './folder.ts'
import { versionOf } from './rehearse.ts'

export interface ApplyDeps {
  readonly database: Pick<Database, 'aside' | 'openListener'>
  /** Value of `project.migrations`. */
  readonly folder: string
  readonly settings: MigrationSettings
}

export interface ScriptToApply {
  readonly sql: string
  /** Purpose, such as `add todo`. */
  readonly name: string
  /** Version of the plan; undefined applies the script whatever has changed since. */
  readonly version?: string | undefined
  readonly now: Date
}

export interface AppliedScript {
  readonly name: string
  /** Path of the file; null where there is no folder. */
  readonly path: string | null
  readonly content: string
}

/** Maximum number of attempts, fewer than a deployment has, because the client waits for the response. */
const mostAttempts = 3

/**
 * Applies a script as a migration. The file, its record and its effects exist together, or none of them. A
 * crash between the file and the commit leaves a pending file.
 *
 * @param record runs in the transaction, or after a script without one
 * @throws AppError
 */
export async function applyScript(
  deps: ApplyDeps,
  script: ScriptToApply,
  record: (queryable: Queryable, applied: AppliedScript) => Promise<void>,
): Promise<AppliedScript> {
  const settings = { ...deps.settings, lock_attempts: Math.min(deps.settings.lock_attempts, mostAttempts) }
  const connection = await deps.database.aside.open()
  try {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await attemptScript(connection, { ...deps, settings }, script, record, attempt)
      if (outcome === 'retry') continue
      if (outcome.file.isTransaction) return outcome.applied
      await applyAlone({ ...deps, settings }, outcome)
      await record(queryableOn(connection), outcome.applied)
      return outcome.applied
    }
  } catch (error) {
    throw toStructureError(error)
  } finally {
    await connection.close()
  }
}

interface Outcome {
  readonly file: MigrationFile
  readonly others: readonly MigrationFile[]
  readonly source: MigrationSource
  readonly applied: AppliedScript
}

async function attemptScript(
  connection: Connection,
  { folder, settings }: ApplyDeps,
  script: ScriptToApply,
  record: (queryable: Queryable, applied: AppliedScript) => Promise<void>,
  attempt: number,
): Promise<'retry' | Outcome> {
  let file: MigrationFile | undefined
  let written: { remove(): void } | undefined
  try {
    return await inMigrationTransaction(connection, async (transaction) => {
      const source = openSource(folder)
      const others = await source.list(transaction)
      const ledger = await listLedger(transaction)
      requireNothingInTheWay(others, ledger)
      if (script.version !== undefined && script.version !== versionOf(await readSchema(transaction))) {
        throw structureErrors.structureChanged()
      }
      file = parseScript(
        script,
        [...others, ...ledger].map(({ name }) => name),
      )
      const path = source.folder === undefined ? null : showPath(source.folder, file.name)
      const applied = { name: file.name, path, content: file.content }
      if (file.isTransaction) {
        await runAndRecord(connection, transaction, file, settings)
        await record(transaction, applied)
        if (source.folder !== undefined) written = writeFile(source.folder, file)
      }
      return { file, others, source, applied }
    })
  } catch (error) {
    written?.remove()
    if (file === undefined) throw error
    await pauseOrFail(await withRemedy(connection, error), file, {
      number: attempt,
      isRepeatable: true,
      settings,
      onRetry: undefined,
    })
    return 'retry'
  }
}

/** Rejects a script while migrations are pending or inconsistent. @throws AppError */
function requireNothingInTheWay(
  files: readonly MigrationFile[],
  ledger: Awaited<ReturnType<typeof listLedger>>,
) {
  const plan = planMigrations(files, ledger)
  const obstacles = findObstacles(plan)
  if (obstacles.length > 0) throw structureErrors.migrationsInTheWay(obstacles.join('; '))
  if (plan.pending.length === 0) return
  const names = plan.pending.map(({ name }) => name).join(', ')
  throw structureErrors.migrationsInTheWay(`migrations are pending: run basalt migrate up first (${names})`)
}

/** Parses the script as a migration with a new name. @throws AppError */
function parseScript({ sql, name, now }: ScriptToApply, existing: readonly string[]): MigrationFile {
  try {
    return parseStructureScript(nameMigration(name, now, existing), sql)
  } catch (error) {
    throw error instanceof OperatorError ? structureErrors.migrationRefused(error.message) : error
  }
}

/** Parses a script. @throws OperatorError, AppError */
export function parseStructureScript(name: string, sql: string): MigrationFile {
  const content = sql.endsWith('\n') ? sql : `${sql}\n`
  if (sql.includes('\0')) throw structureErrors.migrationRefused('sql: a text cannot have the character NUL')
  const file = parseMigration(name, content)
  if (file.statements.length === 0) throw structureErrors.migrationRefused('sql: expected a statement')
  // A failure half-way must have no effect, and a single statement has no half-way.
  if (!file.isTransaction && file.statements.length > 1) {
    throw structureErrors.migrationRefused('sql: without a transaction, expected a single statement')
  }
  return file
}

async function applyAlone(
  { database, settings }: ApplyDeps,
  { file, others, source }: Outcome,
): Promise<void> {
  const written = source.folder === undefined ? undefined : writeFile(source.folder, file)
  try {
    await applyWithoutTransaction(database.openListener, file, {
      files: [...others, file],
      settings,
      allowLate: true,
      dropsInvalid: true,
      onRetry: undefined,
    })
  } catch (error) {
    const ledger = await listNames(database)
    // A migration that has begun stays, and a person finishes or undoes it.
    if (!ledger.includes(file.name)) written?.remove()
    throw error
  }
}

async function listNames({ aside }: ApplyDeps['database']): Promise<string[]> {
  const connection = await aside.open()
  try {
    return await inTransaction(connection, async (transaction) =>
      (await listLedger(transaction)).map(({ name }) => name),
    )
  } finally {
    await connection.close()
  }
}

/**
 * Converts an error: PostgreSQL's message about the operator's statements is the response, and any other error
 * stays as it is.
 */
function toStructureError(error: unknown): unknown {
  if (!(error instanceof OperatorError)) return error
  const { cause } = error
  if (['55P03', '40P01', '40001'].includes(codeOf(cause) ?? '')) {
    return structureErrors
      .structureInUse(`${messageOf(cause)}; nothing of it is done, try again`)
      .with({ cause })
  }
  return cause instanceof ScriptFailure
    ? refuseStatement(cause)
    : structureErrors.migrationsInTheWay(error.message)
}

export function refuseStatement(failure: ScriptFailure, more: Readonly<Record<string, string>> = {}) {
  const { line, message, code } = failure
  return structureErrors
    .statementRefused(String(line), cutText(message))
    .with({ data: { line, ...(code === undefined ? {} : { sqlstate: code }), ...more }, cause: failure })
}
