import { offsetAt } from '../../../database/errors/script-failure.ts'
import { readTokens, type SqlStatement, type SqlToken, splitStatements } from '../../../lib/sql-statements.ts'
import { sqlRunnerErrors } from './errors.ts'
import type { RunRequest } from './request.ts'

const maxStatements = 1000

const beginsOrEnds = new Set(['begin', 'start', 'commit', 'end', 'abort', 'rollback'])

/**
 * Splits the statements of a run.
 *
 * @throws AppError invalid_sql_request for none, too many, or one that would end the transaction of the run
 */
export function readScript(
  query: string,
  { mode, transaction, isDeveloper }: Pick<RunRequest, 'mode' | 'transaction' | 'isDeveloper'>,
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
  const other =
    isDeveloper && mode === 'write'
      ? statements.find((statement) => findForbidden(statement) !== undefined)
      : undefined
  if (other !== undefined) {
    throw sqlRunnerErrors.invalidSqlRequest(
      `line ${other.line}: ${findForbidden(other)?.toUpperCase()} is not allowed for your role`,
    )
  }
  return statements
}

/**
 * First words of the statements with which a developer writes. A role may change its own password and settings, so
 * the privileges of the login are not enough.
 */
const statementsOfDevelopers = new Set(
  'select insert update delete merge with values table explain show'.split(' '),
)

/** Options of EXPLAIN without parentheses. */
const explainWords = new Set(['analyze', 'analyse', 'verbose'])

/**
 * Returns the word for which a developer's statement is refused: its first, the first of an explained statement, or
 * the INTO of a SELECT, which would create a table.
 */
function findForbidden({ text, words: [first = 'this'] }: SqlStatement): string | undefined {
  if (!statementsOfDevelopers.has(first)) return first
  const tokens = [...readTokens(text)].map((each) => ({ ...each, text: each.text.toLowerCase() }))
  if (first === 'explain') {
    const explained = findExplained(tokens)
    if (!statementsOfDevelopers.has(explained)) return explained
  }
  // For each open parenthesis, and the statement itself: true after a SELECT.
  const selects = [false]
  for (const { kind, text: value } of tokens) {
    if (value === '(') selects.push(false)
    else if (value === ')' && selects.length > 1) selects.pop()
    else if (kind === 'word' && value === 'select') selects[selects.length - 1] = true
    else if (kind === 'word' && value === 'into' && selects.at(-1) === true) return value
  }
  return undefined
}

/** Returns the first word of the statement that EXPLAIN explains. */
function findExplained([, ...tokens]: readonly SqlToken[]): string {
  let rest = tokens
  const hasOptions = rest[0]?.text === '(' && !statementsOfDevelopers.has(rest[1]?.text ?? '')
  if (hasOptions) rest = rest.slice(rest.findIndex(({ text }) => text === ')') + 1)
  const found = rest.find(({ kind, text }) => text !== '(' && !(kind === 'word' && explainWords.has(text)))
  return found?.text ?? 'this'
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
