import type { Config } from '../config/schema.ts'
import { openDatabase } from '../database/open.ts'
import type { SystemDatabase } from '../database/system-database.ts'
import { AppError, OperatorError } from '../lib/errors.ts'

/** Runs the work on the configured database, beside a server or without one. */
export async function readDatabase<Result>(
  config: Config,
  purpose: string,
  work: (database: SystemDatabase) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(config, { purpose, asServer: false, log: () => undefined })
  try {
    return await work(database.system)
  } catch (error) {
    // What a request would be refused for is a wrong option here.
    if (error instanceof AppError && error.status < 500)
      throw new OperatorError(error.message, { exitCode: 2, cause: error })
    throw error
  } finally {
    await database.close()
  }
}
