import type { Config } from '../configuration.ts'
import { type Database, openDatabase } from '../database/open.ts'
import type { SystemDatabase } from '../database/system-database.ts'
import { AppError, OperatorError } from '../lib/errors.ts'

/** Maximum `limit` of PostgreSQL's type integer. Commands have no page that would end a list early. */
export const mostRows = 2 ** 31 - 1

/** Opens the configured database as a start prepares it, for a command with or without a running server. */
export async function withDatabase<Result>(
  config: Config,
  purpose: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(config, { purpose, asServer: false, log: () => undefined })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/**
 * Reads the database as {@link withDatabase} does. An error for a request of the API is a wrong option here.
 */
export async function readDatabase<Result>(
  config: Config,
  purpose: string,
  work: (database: SystemDatabase) => Promise<Result>,
): Promise<Result> {
  try {
    return await withDatabase(config, purpose, ({ system }) => work(system))
  } catch (error) {
    if (error instanceof AppError && error.status < 500)
      throw new OperatorError(error.message, { exitCode: 2, cause: error })
    throw error
  }
}
