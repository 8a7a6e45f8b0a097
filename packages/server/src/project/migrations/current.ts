import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { runStatement, ScriptFailure, withRemedy } from '../../database/errors/script-failure.ts'
import type { Database } from '../../database/open.ts'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { splitStatements } from '../../lib/sql-statements.ts'
import { readTextFile } from '../../lib/text-file.ts'
import { emptyCurrent } from '../init/templates.ts'
import { readSchema } from '../schema/objects.ts'
import { createMigrationFile, parseMigration } from './files.ts'
import { inMigrationTransaction } from './lock.ts'
import { recordChanges } from './recorded-schema.ts'

/**
 * Makes a migration of the change in progress. After a crash between the two writes it is in both files. That
 * is harmless, because its statements may run twice.
 *
 * @returns the path of the migration
 * @throws OperatorError when there is nothing to commit
 */
export function commitCurrent(
  { current, migrations }: { readonly current: string; readonly migrations: string },
  name: string,
  now: Date,
): string {
  const content = readTextFile(current)
  if (splitStatements(content).length === 0) throw new OperatorError(`${current} has no statement to commit`)
  // Forbidden content is rejected before the file is written.
  parseMigration(current, content)
  const path = createMigrationFile(migrations, name, now, content.replace(emptyCurrent, ''))
  try {
    writeFileSync(`${current}.new`, emptyCurrent)
    renameSync(`${current}.new`, current)
  } catch (error) {
    throw new OperatorError(`${path} is written, but ${current} cannot be emptied: ${messageOf(error)}`)
  }
  return path
}

/**
 * Applies the change in progress in one transaction. Its changes count as the project's, because the migration
 * will later find them done.
 *
 * @returns the number of its statements, 0 when the file is missing
 * @throws OperatorError with the line that fails
 */
export async function applyCurrent({ aside }: Pick<Database, 'aside'>, path: string): Promise<number> {
  const name = 'schema/current.sql'
  if (!existsSync(path)) return 0
  const { statements } = parseMigration(name, readTextFile(path, name))
  if (statements.length === 0) return 0
  const connection = await aside.open()
  try {
    await inMigrationTransaction(connection, async (transaction) => {
      const before = await readSchema(transaction)
      for (const statement of statements) await runStatement(connection, statement)
      await recordChanges(transaction, before)
    })
    return statements.length
  } catch (error) {
    const failure = await withRemedy(connection, error)
    if (!(failure instanceof ScriptFailure)) throw failure
    throw new OperatorError(`${name}:${failure.line}: ${failure.message}`, { cause: failure })
  } finally {
    await connection.close()
  }
}
