import { isDevelopment, isReachedAtLoopback } from '../../config/development.ts'
import { openConnection, openDatabase } from '../../database/open.ts'
import { sql } from '../../database/sql.ts'
import { inTransaction, queryableOn } from '../../database/system-database.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { ProjectSections } from '../config.ts'
import { applyMigrations } from '../migrations/apply.ts'
import type { MigrationFile } from '../migrations/files.ts'
import { runFile } from './replay.ts'

/** Rejects a database whose rows must not be lost. @throws OperatorError */
export function requireDevelopment(config: ProjectSections, command: string): void {
  if (isDevelopment(config)) return
  if (config.project.development && isReachedAtLoopback(config.server)) return
  throw new OperatorError(
    `${command} is for development: the embedded database, or an external one with project.development = true, and an ` +
      'address that only this machine reaches',
  )
}

export interface Reset {
  readonly applied: readonly string[]
  /** Number of statements in the seed. */
  readonly seeded: number
}

/**
 * Empties the database, including accounts, and recreates it from migrations and seed.
 *
 * @throws OperatorError
 */
export async function resetDatabase(
  config: ProjectSections,
  files: readonly MigrationFile[],
): Promise<Reset> {
  requireDevelopment(config, 'basalt db reset')
  await dropEverything(config)
  const options = { purpose: 'basalt db', asServer: false, log: () => undefined }
  const database = await openDatabase(config, options)
  try {
    const applied = await applyMigrations(database, { files, settings: config.project })
    const seeded = await runFile(database, config.project.seed)
    return { applied: applied.map(({ name }) => name), seeded }
  } finally {
    await database.close()
  }
}

async function dropEverything(config: ProjectSections): Promise<void> {
  const { connection, close } = await openConnection(config, { purpose: 'basalt db', log: () => undefined })
  try {
    const servers = await queryableOn(connection).count(sql`
      select from pg_stat_activity
      where datname = current_database() and application_name ~ '^basalt (start|dev)'`)
    // The server's knowledge of accounts and sessions would be that of another database.
    if (servers > 0) throw new OperatorError('a server runs on the database: stop it first')
    await inTransaction(connection, async (transaction) => {
      const schemas = await transaction.many<{ nspname: string }>(sql`
        select nspname from pg_namespace
        where nspname not like 'pg\\_%' and nspname <> 'information_schema'`)
      for (const { nspname } of schemas) await transaction.count(sql`drop schema ${sql.id(nspname)} cascade`)
      await transaction.count(sql`create schema public`)
      await transaction.count(sql`grant usage on schema public to public`)
    })
  } finally {
    await close()
  }
}
