import pg from 'pg'
import type { SqlStatement } from '../lib/sql-statements.ts'
import type { Connection } from './connection.ts'

/** A statement of a script that PostgreSQL refused. */
export class ScriptFailure extends Error {
  override readonly name = 'ScriptFailure'
  /** SQLSTATE. */
  readonly code: string | undefined
  /** Of the script, from 1. */
  readonly line: number
  readonly statement: SqlStatement

  constructor(error: pg.DatabaseError, statement: SqlStatement) {
    const hints = [error.detail, error.hint].filter((text) => text !== undefined)
    super([error.message, ...hints].join('; ').replace(/\s*\n\s*/g, ' '), { cause: error })
    this.code = error.code
    const position = error.position === undefined ? 0 : Number(error.position) - 1
    this.line = statement.line + statement.text.slice(0, position).split('\n').length - 1
    this.statement = statement
  }
}

/** @throws ScriptFailure, ConnectionLost */
export async function runStatement(connection: Connection, statement: SqlStatement): Promise<void> {
  try {
    await connection.statement(statement.text)
  } catch (error) {
    throw error instanceof pg.DatabaseError ? new ScriptFailure(error, statement) : error
  }
}
