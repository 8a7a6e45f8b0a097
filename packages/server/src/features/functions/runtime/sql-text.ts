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
  ...['set_config', 'pg_settings', 'query_to_xml', 'query_to_xmlschema', 'query_to_xml_and_xmlschema'],
  ...['cursor_to_xml', 'cursor_to_xmlschema', 'ts_stat', 'ts_rewrite', 'dblink', 'dblink_exec'],
]

const namePattern = new RegExp(`\\b(${forbiddenNames.join('|')})\\b`, 'i')

/**
 * Checks the text of a statement of a function.
 *
 * @throws AppError statement_not_allowed
 */
export function requireRowStatement(text: string): void {
  let first: string | undefined
  for (const token of readTokens(text)) {
    if (first === undefined && token.text !== '(') first = token.text.toLowerCase()
    // Escapes of Unicode could spell a name in another way (PostgreSQL, Lexical Structure).
    if (token.kind === 'string' && /^u&/i.test(token.text))
      throw runtimeErrors.statementNotAllowed('ctx.db.sql accepts no Unicode escapes (U&)')
    const name = token.kind === 'parameter' ? undefined : namePattern.exec(token.text)?.[1]
    if (name !== undefined)
      throw runtimeErrors.statementNotAllowed(`ctx.db.sql does not allow ${name.toLowerCase()}`)
  }
  if (first === undefined || !commands.has(first)) {
    throw runtimeErrors.statementNotAllowed(
      `ctx.db.sql runs one ${[...commands].join(', ')}${first === undefined ? '' : `, not ${first.slice(0, 40)}`}`,
    )
  }
}
