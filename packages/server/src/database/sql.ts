const fragmentBrand: unique symbol = Symbol('sql')

/** SQL fragment with its values. */
export interface Sql {
  readonly [fragmentBrand]: true
  readonly strings: readonly string[]
  readonly parts: readonly unknown[]
  /** True if a connection keeps the statement prepared. */
  readonly isPrepared?: boolean
}

declare const typeNameBrand: unique symbol

/** Name of a type as Postgres' `format_type` prints it. It never originates from a caller. */
export type TypeName = string & { readonly [typeNameBrand]: true }

declare const expressionBrand: unique symbol

/** Expression as Postgres' `pg_get_expr` prints it. It never originates from a caller. */
export type Expression = string & { readonly [expressionBrand]: true }

/** Parameter whose value differs from call to call of the same statement. */
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
  /** True if a connection keeps the statement prepared, as in {@link Sql}. */
  readonly isPrepared?: boolean | undefined
}

/** Rendered fragment, with the versions of the definitions and the relations that it names. */
export interface VersionedSql extends RenderedSql {
  readonly version: string | undefined
  readonly relations: readonly ReadRelation[] | undefined
}

/** Part of a fragment that adds nothing to its text. */
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

/** Part of a fragment that adds nothing to its text. */
class Reads {
  readonly relation: ReadRelation

  constructor(relation: ReadRelation) {
    this.relation = relation
  }
}

/**
 * Builds a fragment: `sql\`select * from ${sql.id('public', name)} where id = ${id}\``. An interpolated value
 * always becomes a parameter. Only names, constants and other fragments enter the text.
 */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Sql {
  return { [fragmentBrand]: true, strings, parts }
}

/** Quotes an identifier: `sql.id('public', 'track')` is `"public"."track"`. */
sql.id = (...names: readonly [string, ...string[]]): Sql => verbatim(names.map(quoteIdentifier).join('.'))

/** Quotes a string constant, for names that belong to the statement's shape rather than to one call. */
sql.literal = (value: string): Sql => verbatim(quoteLiteral(value))

/** Writes an integer constant. @throws TypeError when it is not a safe integer */
sql.integer = (value: number): Sql => {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not an integer: ${value}`)
  return verbatim(String(value))
}

/**
 * Attaches the version of a definition that the fragment names. A prepared statement keeps the types of its
 * parameters (PostgreSQL, PREPARE). The same text must therefore be prepared anew after a change of the
 * definition.
 */
sql.version = (value: string): Sql => ({
  [fragmentBrand]: true,
  strings: ['', ''],
  parts: [new Version(value)],
})

/** Attaches a relation that the fragment names. */
sql.reads = (relation: ReadRelation): Sql => ({
  [fragmentBrand]: true,
  strings: ['', ''],
  parts: [new Reads(relation)],
})

/** Writes the name of a type as `format_type` prints it, with quotes if necessary. */
sql.type = (name: TypeName): Sql => verbatim(name)

/** Writes an expression as Postgres printed it, in parentheses. */
sql.expression = (text: Expression): Sql => sql`(${verbatim(text)})`

/**
 * Writes an operator with its schema, for any search path: `operator("shop".=)`.
 *
 * @throws TypeError for other names
 */
sql.operator = (schema: string, name: string): Sql => {
  if (!/^[-+*/<>=~!@#%^&|`?]+$/.test(name) || /--|\/\*/.test(name))
    throw new TypeError(`not an operator: ${name}`)
  return verbatim(`operator(${quoteIdentifier(schema)}.${name})`)
}

/** Joins fragments with a separator, by default a comma. */
sql.join = (fragments: readonly Sql[], separator: Sql = sql`, `): Sql => ({
  [fragmentBrand]: true,
  strings: ['', ...fragments.slice(1).map(() => ''), ''],
  parts: fragments.flatMap((fragment, index) => (index === 0 ? [fragment] : [sql`${separator}${fragment}`])),
})

sql.empty = verbatim('')

/**
 * Marks a statement of a hot path, which a connection parses and plans once. Its columns must be listed. A
 * prepared statement whose result type changes fails, as `select *` does after a new column (PostgreSQL,
 * PREPARE).
 */
sql.prepared = (statement: Sql): Sql => ({ ...statement, isPrepared: true })

/** Renders a fragment: numbers the parameters and collects their values in order. */
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
 * Renders a fragment with its values as constants, for commands without parameters (PostgreSQL, COPY). A quoted
 * constant has no type of its own until the statement gives it one, like a parameter.
 *
 * @throws TypeError for a value that is neither a text nor null, and for a text with NUL
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

/** Returns true if the part adds nothing to the text. */
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

/** Quotes an identifier by doubling `"`. An identifier cannot contain NUL. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new TypeError('an identifier cannot contain NUL')
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes an identifier unless it is plain. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteIdentifier(name)
}

/** Quotes a string for any value of `standard_conforming_strings`: a backslash makes it an `E''` string. */
export function quoteLiteral(value: string): string {
  if (value.includes('\0')) throw new TypeError('a string cannot contain NUL')
  const quoted = `'${value.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return value.includes('\\') ? ` E${quoted}` : quoted
}

function verbatim(text: string): Sql {
  return { [fragmentBrand]: true, strings: [text], parts: [] }
}
