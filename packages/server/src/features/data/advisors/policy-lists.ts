import { closingOf, maskTexts } from './policy-calls.ts'

/**
 * A comparison of a column with the rows of a subquery, as PostgreSQL prints it: `(team_id IN ( SELECT …`, or with a cast
 * of the column. What is named without its table is of the policy's own.
 */
const membership = /(?<![\w."])(?:([a-z_][a-z0-9_]*)|\(([a-z_][a-z0-9_]*)\)::[a-z ]+) IN (?=\( SELECT )/g

/**
 * The expression of a policy with arrays in place of the subqueries that it compares columns with, and these columns; none
 * where a subquery depends on the row, or the comparison is negated. An index finds the elements of an array, but
 * whether a value is among the rows of a subquery is asked for each row. Pure.
 */
export function compareWithArrays(
  expression: string,
  table: string,
): { readonly columns: readonly string[]; readonly expression: string } {
  const masked = maskTexts(expression)
  const columns: string[] = []
  let compared = ''
  let done = 0
  for (const found of masked.matchAll(membership)) {
    const [whole, plain, cast = ''] = found
    const start = found.index + whole.length
    const end = closingOf(masked, start)
    const isNegated = masked.slice(0, found.index).endsWith('NOT (')
    if (isNegated || namesTable(expression.slice(start, end), table)) continue
    columns.push(plain ?? cast)
    compared += `${expression.slice(done, start - 'IN '.length)}= ANY (ARRAY${expression.slice(start, end + 1)})`
    done = end + 1
  }
  return { columns, expression: compared + expression.slice(done) }
}

/** Whether a column is named with the table, which is how PostgreSQL prints one of the row around a subquery. */
function namesTable(subquery: string, table: string): boolean {
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(table)
  return (
    subquery.includes(`"${table.replaceAll('"', '""')}".`) ||
    (isPlain && new RegExp(`(?<![\\w."])${table}\\.`).test(subquery))
  )
}
