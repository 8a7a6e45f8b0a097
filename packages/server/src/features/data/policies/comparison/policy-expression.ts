import type { Expression } from '../../../../database/sql.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { accessErrors } from '../errors.ts'

/**
 * Checks an expression written by an administrator, so that it can replace one of PostgreSQL's own. PostgreSQL's
 * parser must find a single value in it and no clause after it. Nothing of it can then reach beyond its parentheses.
 *
 * @throws AppError invalid_expression
 */
export async function readExpression(text: string, field: string): Promise<Expression> {
  // The parser is loaded at its first use: it takes memory that most servers never need.
  const { parse } = await import('libpg-query')
  const statements = await parse(`select (\n${text}\n)`).then(
    ({ stmts }) => stmts ?? [],
    (error: unknown) => {
      throw accessErrors.invalidExpression(field, messageOf(error))
    },
  )
  const [only] = statements
  const select = only?.stmt !== undefined && 'SelectStmt' in only.stmt ? only.stmt.SelectStmt : undefined
  const clauses = Object.keys(select ?? {}).filter((name) => !plainClauses.has(name))
  if (statements.length !== 1 || select?.targetList?.length !== 1 || clauses.length > 0) {
    throw accessErrors.invalidExpression(field, 'expected one expression')
  }
  // The text was parsed above. A comment at its end must not swallow the parenthesis after it.
  return `${text}\n` as Expression
}

const plainClauses = new Set(['targetList', 'limitOption', 'op'])
