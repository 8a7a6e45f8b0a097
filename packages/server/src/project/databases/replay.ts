import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { runStatement, ScriptFailure } from '../../database/errors/script-failure.ts'
import { type Database, openDatabase } from '../../database/open.ts'
import { inTransaction } from '../../database/system-database.ts'
import { systemClock } from '../../lib/clock.ts'
import { OperatorError } from '../../lib/errors.ts'
import { splitStatements } from '../../lib/sql-statements.ts'
import { readTextFile } from '../../lib/text-file.ts'
import type { ProjectSections } from '../config.ts'
import { applyMigrations } from '../migrations/apply.ts'
import { type MigrationFile, refuseTransactionControl } from '../migrations/files.ts'
import { type Branches, onBranch, openBranches, throwAwayName } from './copies.ts'

/** Temporary database, which is dropped on disposal. */
export interface ThrowAwayBranch<Sections extends ProjectSections> extends AsyncDisposable {
  readonly config: Sections
}

/** Opens a temporary branch. @param make creates it; an empty one by default */
export async function openThrowAwayBranch<Sections extends ProjectSections>(
  config: Sections,
  make: (branches: Branches, branch: string) => Promise<void> = (branches, branch) => branches.create(branch),
): Promise<ThrowAwayBranch<Sections>> {
  const branch = throwAwayName(systemClock.now())
  await using branches = await openBranches(config)
  await branches.dropForgotten()
  await make(branches, branch)
  return {
    config: onBranch(config, branch),
    async [Symbol.asyncDispose]() {
      // It opens a session of its own, because a copy of the database may have ended an earlier one.
      await using current = await openBranches(config)
      await current.drop(branch)
    },
  }
}

/** Runs the work on an empty database to which the files were applied. */
export async function withReplayed<Result>(
  config: ProjectSections,
  files: readonly MigrationFile[],
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  await using branch = await openThrowAwayBranch(config)
  const options = { purpose: 'basalt replay', asServer: false, log: () => undefined }
  const database = await openDatabase(branch.config, options)
  try {
    await applyMigrations(database, { files, settings: config.project })
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Runs the statements of a file in one transaction. @returns their number, 0 when the file is missing */
export async function runFile({ aside }: Pick<Database, 'aside'>, path: string): Promise<number> {
  if (!existsSync(path)) return 0
  const name = basename(path)
  const statements = splitStatements(readTextFile(path, name))
  if (statements.length === 0) return 0
  refuseTransactionControl(name, statements)
  const connection = await aside.open()
  try {
    await inTransaction(connection, async () => {
      for (const statement of statements) await runStatement(connection, statement)
    })
    return statements.length
  } catch (error) {
    if (!(error instanceof ScriptFailure)) throw error
    throw new OperatorError(`${name}:${error.line}: ${error.message}`, { cause: error })
  } finally {
    await connection.close()
  }
}
