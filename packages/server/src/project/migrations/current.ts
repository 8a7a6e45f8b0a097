import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { splitStatements } from '../../lib/sql-statements.ts'
import { emptyCurrent } from '../init/templates.ts'
import { createMigrationFile, parseMigration } from './files.ts'

/**
 * Makes a migration of the change in progress. A crash between the two writes leaves it in both places, where it works:
 * its statements work twice.
 *
 * @returns the path of the migration
 * @throws OperatorError when there is nothing to commit
 */
export function commitCurrent(
  { current, migrations }: { readonly current: string; readonly migrations: string },
  name: string,
  now: Date,
): string {
  const content = read(current)
  if (splitStatements(content).length === 0) throw new OperatorError(`${current} has no statement to commit`)
  // What a migration may not have is refused before there is a file.
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

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new OperatorError(`cannot read ${path}: ${messageOf(error)}`)
  }
}
