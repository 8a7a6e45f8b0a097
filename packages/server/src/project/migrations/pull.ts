import { join } from 'node:path'
import type { Queryable } from '../../database/system-database.ts'
import { listNames, writeNewFile } from './files.ts'
import { listContents } from './ledger.ts'

/**
 * Writes the migrations of the database that the folder lacks, such as those of a dashboard on a server without
 * a project. It does not change existing files.
 *
 * @returns their paths
 * @throws OperatorError
 */
export async function pullMigrations(queryable: Queryable, folder: string): Promise<string[]> {
  const present = new Set(listNames(folder))
  const missing = (await listContents(queryable)).filter(({ name }) => !present.has(name))
  return missing.map(({ name, content }) => {
    const path = join(folder, name)
    writeNewFile(path, content)
    return path
  })
}
