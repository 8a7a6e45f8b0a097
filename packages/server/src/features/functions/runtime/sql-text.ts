import { readTokens } from '../../../lib/sql-statements.ts'
import { runtimeErrors } from './errors.ts'

/** First words of the statements that a function may run. */
const commands: ReadonlySet<string> = new Set([
  ...['select', 'with', 'insert', 'update', 'delete', 'merge', 'values', 'table'],
])

/**
 * Names that change settings, or execute a text. Role and claims of the caller are settings. They are verified after the
 * statement, too.
 */
const forbiddenNames: readonly string[] = [
  ...['set_config', 'pg_settings', 'query_to_xml\\w*', 'cursor_to_xml\\w*', 'xpath_table'],
  ...['ts_stat', 'ts_rewrite', 'dblink\\w*', 'crosstab\\w*', 'connectby'],
]

const namePattern = new RegExp(`\\b(${forbiddenNames.join('|')})\\b`, 'i')

/**
 * Checks the text of a statement of a function. Names are searched in the whole text, strings and comments included, so
 * that they are found however PostgreSQL divides it.
 *
 * @throws AppError statement_not_allowed
 */
export function requireRowStatement(text: string): void {
  // PostgreSQL ends a comment there, and the parser below does not.
  if (/\r(?!\n)/.test(text)) {
    throw runtimeErrors.statementNotAllowed('ctx.db.sql accepts no carriage return without a line feed')
  }
  // Escapes of Unicode could spell a name in another way (PostgreSQL, Lexical Structure).
  if (/u&["']/i.test(text)) {
    throw runtimeErrors.statementNotAllowed('ctx.db.sql accepts no Unicode escapes (U&)')
  }
  const name = namePattern.exec(text)?.[1]
  if (name !== undefined)
    throw runtimeErrors.statementNotAllowed(`ctx.db.sql does not allow ${name.toLowerCase()}`)
  const [first] = [...readTokens(text)]
    .filter((token) => token.text !== '(')
    .map((token) => token.text.toLowerCase())
  if (first === undefined || !commands.has(first)) {
    throw runtimeErrors.statementNotAllowed(
      `ctx.db.sql runs one ${[...commands].join(', ')}${first === undefined ? '' : `, not ${first.slice(0, 40)}`}`,
    )
  }
}
