import { closingOf, maskTexts } from '../../../database/catalog/policy-expressions.ts'

/**
 * Pattern of a column compared with the rows of a subquery, as PostgreSQL prints it: `(team_id IN ( SELECT …`, or
 * with a cast of the column. A name without its table belongs to the policy's own table.
 */
const membership = /(?<![\w."])(?:([a-z_][a-z0-9_]*)|\(([a-z_][a-z0-9_]*)\)::[a-z ]+) IN (?=\( SELECT )/g

/**
 * Returns the expression of a policy with arrays instead of the subqueries that columns are compared with, and these
 * columns. There are none where a subquery depends on the row, or the comparison is negated. An index finds the
 * elements of an array, but membership in a subquery is evaluated for each row. Pure.
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

/**
 * Returns whether a column is named with the table. PostgreSQL prints a column of the row outside a subquery that
 * way.
 */
function namesTable(subquery: string, table: string): boolean {
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(table)
  return (
    subquery.includes(`"${table.replaceAll('"', '""')}".`) ||
    (isPlain && new RegExp(`(?<![\\w."])${table}\\.`).test(subquery))
  )
}

/**
 * Returns the expression of a policy with arrays instead of `exists (select … where x = column)` and of IN, and the
 * columns that are compared with them. Undefined where something else depends on rows of other tables.
 */
export function selectByArrays(
  expression: string,
  table: string,
): { readonly columns: readonly string[]; readonly expression: string } | undefined {
  const lists = compareWithArrays(expression, table)
  const columns = [...lists.columns]
  let compared = lists.expression
  for (;;) {
    const masked = maskTexts(compared)
    const opening = /(?<!NOT )\(EXISTS (?=\( ?SELECT\b)/.exec(masked)
    if (opening === null) break
    const start = opening.index + opening[0].length
    const end = closingOf(masked, start)
    const array = arrayOf(compared.slice(start + 1, end), table)
    if (array === undefined) return undefined
    columns.push(array.column)
    compared = `${compared.slice(0, opening.index)}(${array.comparison}${compared.slice(end + 1)}`
  }
  return columns.length === 0 ? undefined : { columns, expression: compared }
}

/**
 * Returns `column = ANY (ARRAY( SELECT … ))` for a subquery that compares one column of the row, in a condition that
 * must hold.
 */
function arrayOf(
  subquery: string,
  table: string,
): { readonly column: string; readonly comparison: string } | undefined {
  if (!/^[a-z_][a-z0-9_]*$/.test(table)) return undefined
  const masked = maskTexts(subquery)
  const [head, from, where] = [/^\s*SELECT\b/, /\sFROM\s/, /\sWHERE\s/].map((pattern) => pattern.exec(masked))
  if (head == null || from == null || where == null) return undefined
  const condition = masked.slice(where.index)
  if (/\b(?:OR|NOT|GROUP|HAVING|LIMIT|UNION|EXCEPT|INTERSECT|OFFSET)\b/.test(condition)) return undefined
  const own = `${table}\\.([a-z_][a-z0-9_]*)`
  const other = '([a-z_][a-z0-9_]*\\.[a-z_][a-z0-9_]*)'
  const equality = new RegExp(`\\((?:${other} = ${own}|${own} = ${other})\\)`).exec(condition)
  // The row is named only once, in that comparison.
  if (equality === null || [...masked.matchAll(new RegExp(`(?<![\\w."])${table}\\.`, 'g'))].length !== 1)
    return undefined
  const column = equality[2] ?? equality[3] ?? ''
  const value = equality[1] ?? equality[4] ?? ''
  const at = where.index + equality.index
  const rest = ` ${subquery.slice(from.index, at).trimStart()}true${subquery.slice(at + equality[0].length)}`
  return {
    column,
    comparison: `${column} = ANY (ARRAY( SELECT ${value}${rest.replace(/\s+WHERE true\s*$/, '')}))`,
  }
}
