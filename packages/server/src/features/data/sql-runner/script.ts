import { offsetAt } from '../../../database/errors/script-failure.ts'
import { type SqlStatement, splitStatements } from '../../../lib/sql-statements.ts'
import { sqlRunnerErrors } from './errors.ts'
import type { RunMode, RunTransaction } from './request.ts'

const maxStatements = 1000

const beginsOrEnds = new Set(['begin', 'start', 'commit', 'end', 'abort', 'rollback'])

/**
 * Splits the statements of a run.
 *
 * @throws AppError invalid_sql_request for none, too many, or one that would end the transaction of the run
 */
export function readScript(
  query: string,
  { mode, transaction }: { readonly mode: RunMode; readonly transaction: RunTransaction },
): SqlStatement[] {
  const statements = splitStatements(query)
  if (statements.length === 0) throw sqlRunnerErrors.invalidSqlRequest('query has no statement')
  if (statements.length > maxStatements)
    throw sqlRunnerErrors.invalidSqlRequest(`query has more than ${maxStatements} statements`)
  const ending = transaction === 'each' ? undefined : statements.find(endsTransaction)
  if (ending !== undefined) {
    const advice =
      mode === 'read'
        ? 'a read-only run is one transaction'
        : 'the run is one transaction; set transaction to each'
    throw sqlRunnerErrors.invalidSqlRequest(
      `line ${ending.line}: ${ending.words[0]?.toUpperCase()} is not allowed: ${advice}`,
    )
  }
  return statements
}

/**
 * Returns whether a statement ends the transaction. Savepoints stay within it (PostgreSQL, ROLLBACK TO SAVEPOINT).
 */
function endsTransaction({ words: [first = '', second, third] }: SqlStatement): boolean {
  if (first === 'prepare') return second === 'transaction'
  if (!beginsOrEnds.has(first)) return false
  const afterNoise = second === 'work' || second === 'transaction' ? third : second
  return !(first === 'rollback' && afterNoise === 'to')
}

/**
 * Returns the line and position of PostgreSQL's error position in the text of the run.
 *
 * @param position from 1, of the statement
 */
export function locateInScript(query: string, start: number, position: number) {
  const offset = offsetAt(query, position, start)
  const before = query.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { offset, line: before.split('\n').length, column: offset - lineStart + 1 }
}
