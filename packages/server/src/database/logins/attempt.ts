import pg from 'pg'
import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'

/** Runs a statement that may fail without failing the transaction; returns the error. */
export async function attempt(transaction: Queryable, statement: Sql): Promise<pg.DatabaseError | undefined> {
  await transaction.count(sql`savepoint attempt`)
  try {
    await transaction.count(statement)
    await transaction.count(sql`release savepoint attempt`)
    return undefined
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    await transaction.count(sql`rollback to savepoint attempt`)
    return error
  }
}
