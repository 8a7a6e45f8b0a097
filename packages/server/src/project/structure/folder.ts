import { accessSync, constants, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Queryable } from '../../database/system-database.ts'
import { type MigrationFile, parseMigration, readMigrationFiles, writeNewFile } from '../migrations/files.ts'
import { listContents } from '../migrations/ledger.ts'

/** Where the migrations of this server are. */
export interface MigrationSource {
  /** Undefined where there is no folder to write to: the database alone has them. */
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

/** Writes the file until it turns out that it is not needed. @throws OperatorError */
export function writeFile(folder: string, { name, content }: MigrationFile): { remove(): void } {
  const path = join(folder, name)
  writeNewFile(path, content)
  return { remove: () => rmSync(path, { force: true }) }
}

/** As people call it: `migrations/20261122093000_add_todo.sql`. */
export function showPath(folder: string, name: string): string {
  return `${basename(folder)}/${name}`
}
