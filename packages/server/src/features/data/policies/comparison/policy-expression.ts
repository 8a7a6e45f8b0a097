import type { Expression } from '../../../../database/sql.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { accessErrors } from '../errors.ts'

/**
 * An expression that an administrator wrote, as one that can stand where PostgreSQL's own do: its parser finds a single
 * value in it and no clause after it, so that nothing of it reaches beyond its parentheses.
 *
 * @throws AppError invalid_expression
 */
export async function readExpression(text: string, field: string): Promise<Expression> {
  // At the first use: the parser takes memory that most servers never need.
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
  // Parsed just now. A comment at its end must not take the parenthesis after it along.
  return `${text}\n` as Expression
}

const plainClauses = new Set(['targetList', 'limitOption', 'op'])
