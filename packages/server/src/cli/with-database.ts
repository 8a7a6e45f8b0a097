import type { Config } from '../config/schema.ts'
import { type Database, openDatabase } from '../database/open.ts'

/** Opens the configured database as a start prepares it, for a command beside a server or without one. */
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
