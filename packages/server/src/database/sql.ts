/**
 * SQL as fragments. An interpolated value always becomes a parameter; only names, constants and other fragments
 * enter the text.
 */

const fragmentBrand: unique symbol = Symbol('sql')

/** A piece of SQL with its values. */
export interface Sql {
  readonly [fragmentBrand]: true
  readonly strings: readonly string[]
  readonly parts: readonly unknown[]
  /** Whether a connection keeps the statement prepared. */
  readonly isPrepared?: boolean
}

declare const typeNameBrand: unique symbol

/** Printed by Postgres' `format_type`, never taken from a caller. */
export type TypeName = string & { readonly [typeNameBrand]: true }

declare const expressionBrand: unique symbol

/** Printed by Postgres' `pg_get_expr`, never taken from a caller. */
export type Expression = string & { readonly [expressionBrand]: true }

/** A parameter whose value differs from call to call of the same statement. */
export class Slot {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** Text with `$1…$n` and the values to bind. */
export interface RenderedSql {
  readonly text: string
  readonly values: readonly unknown[]
  /** As of {@link Sql}. */
  readonly isPrepared?: boolean | undefined
}

/** A rendered fragment, with the versions of the definitions and the relations that it names. */
export interface VersionedSql extends RenderedSql {
  readonly version: string | undefined
  readonly relations: readonly ReadRelation[] | undefined
}

/** Belongs to a fragment without being part of its text. */
class Version {
  readonly value: string

  constructor(value: string) {
    this.value = value
  }
}

/** Relation that a statement reads, as far as the plan depends on the caller. */
export interface ReadRelation {
  readonly oid: string
  /** True if policies decide which of its rows the caller sees. */
  readonly isRestricted: boolean
}

/** Belongs to a fragment without being part of its text. */
class Reads {
  readonly relation: ReadRelation

  constructor(relation: ReadRelation) {
    this.relation = relation
  }
}

/** `sql\`select * from ${sql.id('public', name)} where id = ${id}\`` */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Sql {
  return { [fragmentBrand]: true, strings, parts }
}

/** A quoted identifier: `sql.id('public', 'track')` is `"public"."track"`. */
sql.id = (...names: readonly [string, ...string[]]): Sql => verbatim(names.map(quoteIdentifier).join('.'))

/** A quoted string constant, for names that belong to the statement's shape rather than to one call. */
sql.literal = (value: string): Sql => verbatim(quoteLiteral(value))

/** An integer constant. @throws TypeError when it is not a safe integer. */
sql.integer = (value: number): Sql => {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not an integer: ${value}`)
  return verbatim(String(value))
}

/**
 * The version of a definition that the fragment names. A prepared statement keeps the types of its parameters
 * (PostgreSQL, PREPARE), so the same text must be prepared anew when the definition has changed.
 */
sql.version = (value: string): Sql => ({
  [fragmentBrand]: true,
  strings: ['', ''],
  parts: [new Version(value)],
})

/** The relation that the fragment names. */
sql.reads = (relation: ReadRelation): Sql => ({
  [fragmentBrand]: true,
  strings: ['', ''],
  parts: [new Reads(relation)],
})

/** The name of a type as `format_type` prints it, which quotes what needs quoting. */
sql.type = (name: TypeName): Sql => verbatim(name)

/** An expression as Postgres printed it, with its own parentheses. */
sql.expression = (text: Expression): Sql => sql`(${verbatim(text)})`

/** An operator by its schema, whatever the search path: `operator("shop".=)`. @throws TypeError for other names */
sql.operator = (schema: string, name: string): Sql => {
  if (!/^[-+*/<>=~!@#%^&|`?]+$/.test(name) || /--|\/\*/.test(name))
    throw new TypeError(`not an operator: ${name}`)
  return verbatim(`operator(${quoteIdentifier(schema)}.${name})`)
}

/** Fragments with a separator, a comma unless given. */
sql.join = (fragments: readonly Sql[], separator: Sql = sql`, `): Sql => ({
  [fragmentBrand]: true,
  strings: ['', ...fragments.slice(1).map(() => ''), ''],
  parts: fragments.flatMap((fragment, index) => (index === 0 ? [fragment] : [sql`${separator}${fragment}`])),
})

sql.empty = verbatim('')

/**
 * A statement of a hot path that a connection parses and plans once. Its columns are listed: a prepared statement whose
 * result type changes, as that of `select *` does with a new column, fails (PostgreSQL, PREPARE).
 */
sql.prepared = (statement: Sql): Sql => ({ ...statement, isPrepared: true })

/** Numbers the parameters and collects their values in order. */
export function render(fragment: Sql): VersionedSql {
  const values: unknown[] = []
  const versions = new Set<string>()
  const relations = new Map<string, ReadRelation>()
  let text = ''
  const append = (piece: Sql): void => {
    piece.strings.forEach((string, index) => {
      text += string
      if (index >= piece.parts.length) return
      const part = piece.parts[index]
      if (isSql(part)) append(part)
      else if (part instanceof Version) versions.add(part.value)
      else if (part instanceof Reads) relations.set(part.relation.oid, part.relation)
      else text += `$${values.push(part)}`
    })
  }
  append(fragment)
  return {
    text,
    values,
    version: versions.size === 0 ? undefined : [...versions].join(' '),
    relations: relations.size === 0 ? undefined : [...relations.values()],
    isPrepared: fragment.isPrepared,
  }
}

/**
 * The text with its values as constants, for commands that take no parameters (PostgreSQL, COPY). Until the statement
 * gives it one, a quoted constant has no more of a type than a parameter.
 *
 * @throws TypeError for a value that is neither a text nor null, and for NUL, which no text of PostgreSQL has
 */
export function renderConstants(fragment: Sql): string {
  const constants: Sql = {
    ...fragment,
    parts: fragment.parts.map((part) =>
      isSql(part) ? verbatim(renderConstants(part)) : isNote(part) ? part : constant(part),
    ),
  }
  return render(constants).text
}

/** Returns whether the part adds nothing to the text. */
function isNote(part: unknown): boolean {
  return part instanceof Version || part instanceof Reads
}

function constant(value: unknown): Sql {
  if (value === null) return sql`null`
  if (typeof value !== 'string') throw new TypeError(`not a text: ${typeof value}`)
  return sql.literal(value)
}

export function isSql(value: unknown): value is Sql {
  return typeof value === 'object' && value !== null && fragmentBrand in value
}

/** Postgres quotes identifiers by doubling `"`; NUL cannot occur in one. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new TypeError('an identifier cannot contain NUL')
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes an identifier unless it is plain. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteIdentifier(name)
}

/** Safe whatever `standard_conforming_strings` says: a backslash makes it an `E''` string. */
export function quoteLiteral(value: string): string {
  if (value.includes('\0')) throw new TypeError('a string cannot contain NUL')
  const quoted = `'${value.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return value.includes('\\') ? ` E${quoted}` : quoted
}

function verbatim(text: string): Sql {
  return { [fragmentBrand]: true, strings: [text], parts: [] }
}
