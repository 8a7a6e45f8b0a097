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
    this.line = statement.line + lineAt(statement.text, Number(error.position ?? 1)) - 1
    this.statement = statement
  }
}

/** The line, from 1, of a position that PostgreSQL names: it counts code points from 1. */
export function lineAt(text: string, position: number): number {
  let line = 1
  let index = 1
  for (const character of text) {
    if (index >= position) break
    if (character === '\n') line += 1
    index += 1
  }
  return line
}

/** @throws ScriptFailure, ConnectionLost */
export async function runStatement(connection: Connection, statement: SqlStatement): Promise<void> {
  try {
    await connection.statement(statement.text)
  } catch (error) {
    throw error instanceof pg.DatabaseError ? new ScriptFailure(error, statement) : error
  }
}
