import { quoteIdentifier, quoteLiteral } from '../../../database/sql.ts'
import { splitStatements } from '../../../lib/sql-statements.ts'
import { structureErrors } from '../errors.ts'

/** Reserved key words, with those that cannot name a function or type (PostgreSQL, SQL Key Words). */
const reserved = new Set(
  `all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast
  char character check coalesce collate collation column concurrently constraint create cross current_catalog
  current_date current_role current_schema current_time current_timestamp current_user dec decimal default deferrable
  desc distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest group
  grouping having ilike in initially inner inout int integer intersect interval into is isnull join json json_array
  json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value
  lateral leading least left like limit localtime localtimestamp merge_action national natural nchar none normalize not
  notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary
  real references returning right row select session_user setof similar smallint some substring symmetric
  system_user table tablesample then time timestamp to trailing treat trim true union unique user using values varchar
  variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
  xmlpi xmlroot xmlserialize xmltable`.split(/\s+/),
)

/** Returns a name, quoted where necessary. */
export function name(text: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(text) && !reserved.has(text) ? text : quoteIdentifier(text)
}

/** Joins names with commas. */
export function names(texts: readonly string[]): string {
  return texts.map(name).join(', ')
}

export interface Named {
  readonly schema: string
  readonly name: string
}

export function qualified({ schema, name: own }: Named): string {
  return `${name(schema)}.${name(own)}`
}

export function cascadeClause(cascade: boolean | undefined): string {
  return cascade === true ? ' cascade' : ''
}

export function literal(text: string): string {
  return quoteLiteral(text).trim()
}

/**
 * Returns an expression without surrounding blanks.
 *
 * @throws AppError that names an empty member, or one with several expressions
 */
export function expression(text: string, member: string): string {
  const trimmed = text.trim()
  const isOne = splitStatements(trimmed).length === 1 && !/;\s*$/.test(trimmed) && isBalanced(trimmed)
  if (!isOne) throw structureErrors.invalidStructureChange(member, 'expected one expression of SQL')
  return trimmed
}

/** Returns true if no parenthesis closes one from outside of the text. Quotes are skipped. */
function isBalanced(text: string): boolean {
  let depth = 0
  for (const [character] of text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, '').matchAll(/[()]/g)) {
    depth += character === '(' ? 1 : -1
    if (depth < 0) return false
  }
  return depth === 0 && !/--|\/\*/.test(text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, ''))
}
