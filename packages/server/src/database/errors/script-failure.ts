import pg from 'pg'
import type { SqlStatement } from '../../lib/sql-statements.ts'
import type { Connection } from '../connection/connection.ts'
import { findRemedyBy } from './denials.ts'

/** Statement of a script that PostgreSQL rejected. */
export class ScriptFailure extends Error {
  override readonly name = 'ScriptFailure'
  /** SQLSTATE. */
  readonly code: string | undefined
  /** Line of the script, from 1. */
  readonly line: number
  readonly statement: SqlStatement

  /** @param remedy for the operator, where there is one */
  constructor(error: pg.DatabaseError, statement: SqlStatement, remedy?: string) {
    const hints = [error.detail, error.hint, remedy].filter((text) => text !== undefined)
    super([error.message, ...hints].join('; ').replace(/\s*\n\s*/g, ' '), { cause: error })
    this.code = error.code
    this.line = statement.line + lineAt(statement.text, Number(error.position ?? 1)) - 1
    this.statement = statement
  }
}

/**
 * Adds the statement that gives the login role a missing privilege. The transaction of the script has ended.
 */
export async function withRemedy(connection: Connection, failure: unknown): Promise<unknown> {
  if (!(failure instanceof ScriptFailure && failure.cause instanceof pg.DatabaseError)) return failure
  const remedy = await findRemedyBy(connection, failure.cause)
  return remedy === undefined ? failure : new ScriptFailure(failure.cause, failure.statement, remedy)
}

/** Returns the line, from 1, of a position that PostgreSQL reports. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, offsetAt(text, position)).split('\n').length
}

/**
 * Returns the number of UTF-16 units before a position that PostgreSQL reports. It counts code points.
 *
 * @param position from 1, in the part of the text that begins at `start`
 */
export function offsetAt(text: string, position: number, start = 0): number {
  let offset = start
  for (let left = position - 1; left > 0 && offset < text.length; left -= 1) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
  }
  return offset
}

/** Runs a statement of a script. @throws ScriptFailure, ConnectionLost */
export async function runStatement(connection: Connection, statement: SqlStatement): Promise<void> {
  try {
    await connection.statement(statement.text)
  } catch (error) {
    throw error instanceof pg.DatabaseError ? new ScriptFailure(error, statement) : error
  }
}
