import { withRemedy } from '../../database/errors/script-failure.ts'
import type { Preparation } from '../../database/open.ts'
import { inPreparation } from '../../database/preparation/preparation.ts'
import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { OperatorError } from '../../lib/errors.ts'
import { runAndRecord } from '../migrations/apply.ts'
import { type MigrationSettings, pauseOrFail } from '../migrations/attempts.ts'
import {
  type MigrationFile,
  nameMigration,
  parseMigration,
  readMigrationFiles,
  writeNewFile,
} from '../migrations/files.ts'
import { finish, insertStarted, type LedgerRow, listContents, listLedger } from '../migrations/ledger.ts'
import { inMigrationTransaction } from '../migrations/lock.ts'
import { planMigrations, requireNoObstacle } from '../migrations/plan.ts'

/** Migration of an adoption, or of its undoing. */
export interface AdoptionScript {
  /** Purpose in its name, such as `adopt`. */
  readonly title: string
  /** Returns the text, read in the transaction that runs it. @throws OperatorError if the schema has changed */
  readonly write: (transaction: Queryable) => Promise<string>
  /** Text of the schema before it; undefined where the migrations have it, or where it could not be read. */
  readonly baseline?: string | undefined
}

export interface AdoptionOptions {
  /** Value of `project.migrations`. */
  readonly folder: string
  readonly settings: MigrationSettings
  readonly now: Date
  readonly onRetry: (message: string) => void
}

export interface Adoption {
  /** Path of the migration. */
  readonly migration: string
  /** Path of the baseline; null where there is none. */
  readonly baseline: string | null
}

/** Rejects a folder and a ledger that do not match. @throws OperatorError */
export function requireUpToDate(files: readonly MigrationFile[], ledger: readonly LedgerRow[]): void {
  const plan = planMigrations(files, ledger)
  requireNoObstacle(plan, false)
  if (plan.pending.length === 0) return
  throw new OperatorError(
    `migrations are pending: run basalt migrate up first, or remove the files (${plan.pending.map(({ name }) => name).join(', ')})`,
  )
}

/**
 * Prepares the database as a start does, and runs the script as a migration. The baseline counts as applied. The
 * preparation, both rows and all effects are one transaction: callers never have its grants without the policies.
 * A crash after it leaves files that `basalt migrate pull` writes.
 *
 * @throws OperatorError
 */
export async function applyAdoption(
  database: Omit<Preparation, 'close'>,
  script: AdoptionScript,
  options: AdoptionOptions,
): Promise<Adoption> {
  for (let attempt = 1; ; attempt += 1) {
    const files = await attemptAdoption(database, script, options, attempt)
    if (files === 'retry') continue
    const [baseline, migration] = files.map((file) => file && writeMigrationFile(options.folder, file))
    return { migration: migration ?? '', baseline: baseline ?? null }
  }
}

type Files = readonly [baseline: MigrationFile | undefined, migration: MigrationFile]

async function attemptAdoption(
  { connection, prepare, explain }: Omit<Preparation, 'close'>,
  { title, write, baseline }: AdoptionScript,
  { folder, settings, now, onRetry }: AdoptionOptions,
  attempt: number,
): Promise<'retry' | Files> {
  let current: MigrationFile | undefined
  try {
    const run = async (transaction: Queryable): Promise<Files> => {
      await prepare(transaction)
      const files = readMigrationFiles(folder)
      const ledger = await listLedger(transaction)
      requireUpToDate(files, ledger)
      const names = [...files, ...ledger].map(({ name }) => name)
      if (baseline !== undefined && names.length > 0) {
        throw new OperatorError('another migration was applied meanwhile: run basalt adopt again')
      }
      const content = await write(transaction)
      const base =
        baseline === undefined ? undefined : parseMigration(nameMigration('baseline', now, names), baseline)
      const file = parseMigration(
        nameMigration(title, now, base === undefined ? names : [base.name]),
        content,
      )
      current = file
      if (base !== undefined) {
        await insertStarted(transaction, base)
        await finish(transaction, base.name, base.statements.length)
      }
      await runAndRecord(connection, transaction, file, settings)
      return [base, file]
    }
    return await inMigrationTransaction(connection, run, inPreparation)
  } catch (error) {
    if (current === undefined) throw await explain(error)
    const repeated = { number: attempt, isRepeatable: true, settings, onRetry }
    await pauseOrFail(await withRemedy(connection, error), current, repeated)
    return 'retry'
  }
}

function writeMigrationFile(folder: string, { name, content }: MigrationFile): string {
  const path = `${folder}/${name}`
  try {
    writeNewFile(path, content)
    return path
  } catch (error) {
    throw new OperatorError(`${name} is applied, but not written; basalt migrate pull writes it`, {
      cause: error,
    })
  }
}

/** Returns the dump of a schema as a migration. Meta-commands of psql are no statements. Pure. */
export function writeBaseline(dump: string): string {
  const statements = dump
    .split('\n')
    .filter((line) => !/^\\(un)?restrict\b/.test(line))
    .join('\n')
  return `-- The schema before basalt adopt, which counts as applied here.\n${statements}`
}

/** Lists the migrations of a project with their texts; none before the first start. */
export async function listApplied(transaction: Queryable): ReturnType<typeof listContents> {
  const { has_table } = await transaction.one<{ has_table: boolean }>(
    sql`select to_regclass('basalt.project_migrations') is not null as has_table`,
  )
  return has_table ? await listContents(transaction) : []
}
