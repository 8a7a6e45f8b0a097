import type { Policy, Relation } from '../../../../database/catalog/model.ts'
import type { Reader } from './reader.ts'

/**
 * Whether an index finds the rows that policies show the reader: each of the permissive ones, any of which may show a row,
 * compares an indexed column with a value of the caller.
 */
export function findsOwnRows(relation: Relation, reader: Reader): boolean {
  if (reader === 'unrestricted' || !relation.rlsEnabled) return false
  const deciding = relation.policies.filter(
    ({ permissive, command, isForCallers, isForAnonymous }) =>
      permissive &&
      (command === 'SELECT' || command === 'ALL') &&
      (reader === 'caller' ? isForCallers : isForAnonymous),
  )
  return deciding.every(
    (policy) =>
      // A row may be shown for another reason, by which no index finds it.
      !/ OR /.test(maskTexts(policy.using ?? '')) &&
      comparedColumns(policy).some((name) => startsIndex(relation, [name])),
  )
}

/** The columns of which a policy, as PostgreSQL prints it, asks which rows have a value. */
export function comparedColumns({ using, columns }: Pick<Policy, 'using' | 'columns'>): readonly string[] {
  return using === undefined ? [] : (columns ?? []).filter((name) => isCompared(using, name))
}

function isCompared(expression: string, name: string): boolean {
  const quoted = /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
  const column = `(?<![\\w."])${quoted.replace(/[^\w]/g, '\\$&')}(?:::[\\w ]+)?(?![\\w."])`
  const text = quoted === name ? maskTexts(expression) : expression
  return new RegExp(`${column}\\)* = |= (?:ANY \\()?\\(*${column}`).test(text)
}

/** Whether an index of all rows begins with the columns, in whatever order. */
export function startsIndex({ indexes }: Relation, columns: readonly string[]): boolean {
  return indexes.some(({ isValid, isPartial, columns: keys }) => {
    const first = keys?.slice(0, columns.length) ?? []
    return isValid && !isPartial && columns.every((name) => first.includes(name))
  })
}

/** Texts and quoted names as blanks of the same length, so that what they hold is not taken for SQL. */
export function maskTexts(expression: string): string {
  return expression.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (text) => ' '.repeat(text.length))
}
