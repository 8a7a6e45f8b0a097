import { accessSync, constants, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Queryable } from '../../database/system-database.ts'
import { type MigrationFile, parseMigration, readMigrationFiles, writeNewFile } from '../migrations/files.ts'
import { listContents } from '../migrations/ledger.ts'

/** Source of this server's migrations. */
export interface MigrationSource {
  /** Writable folder; undefined where only the database has them. */
  readonly folder: string | undefined
  list(transaction: Queryable): Promise<MigrationFile[]>
}

export function openSource(folder: string): MigrationSource {
  return isWritable(folder)
    ? { folder, list: async () => readMigrationFiles(folder) }
    : {
        folder: undefined,
        list: async (transaction) =>
          (await listContents(transaction)).map(({ name, content }) => parseMigration(name, content)),
      }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Writes a file that can be removed again. @throws OperatorError */
export function writeFile(folder: string, { name, content }: MigrationFile): { remove(): void } {
  const path = join(folder, name)
  writeNewFile(path, content)
  return { remove: () => rmSync(path, { force: true }) }
}

/** Formats a path for people: `migrations/20261122093000_add_todo.sql`. */
export function showPath(folder: string, name: string): string {
  return `${basename(folder)}/${name}`
}
