import type { SqlStatement } from '../../lib/sql-statements.ts'

/** Effect of a statement on the rows of a table, judged by its text. */
export type Weight =
  /** The statement only changes the catalog, whatever the number of rows. */
  | 'light'
  /** The statement reads all rows. */
  | 'reads'
  /** The statement may rewrite all rows. */
  | 'writes'

/**
 * Returns the weight of a statement. One that is not known to be light is not light (PostgreSQL, ALTER TABLE,
 * Notes). Pure.
 */
export function weigh({ text, words }: SqlStatement): Weight {
  const plain = text
    .replace(/'(?:[^']|'')*'/g, "''")
    .replace(/--[^\n]*/g, ' ')
    .replace(/\s+/g, ' ')
    .toLowerCase()
  const [first = '', second = ''] = words
  if (['comment', 'grant', 'revoke', 'drop', 'set', 'reset'].includes(first)) return 'light'
  if (first === 'create') {
    if (/^create (unique )?index|^create materialized view/.test(plain)) return 'reads'
    return /^create (\w+ )*table .* as /.test(plain) ? 'reads' : 'light'
  }
  if (first !== 'alter') return 'writes'
  if (second === 'domain') return / add | validate | not null/.test(plain) ? 'reads' : 'light'
  if (second !== 'table') return 'light'
  if (/ validate constraint | set not null/.test(plain)) return 'reads'
  if (/ (set data )?type | set (un)?logged| set tablespace| set access method/.test(plain)) return 'writes'
  if (/ add (column )?/.test(plain)) return weighAddition(plain)
  return 'light'
}

function weighAddition(plain: string): Weight {
  const isConstraint = / add (constraint |check|foreign key|unique|primary key|exclude|not null)/.test(plain)
  if (isConstraint) return / not valid$| using index /.test(plain) ? 'light' : 'reads'
  // A default that calls a function is evaluated for each row; a constant one is not.
  if (/ generated | (small|big)?serial\b| default [^,]*\(/.test(plain)) return 'writes'
  return / (check|references|unique|primary key)/.test(plain) ? 'reads' : 'light'
}
