import type { Catalog, Column, Relation } from '../../database/catalog/model.ts'
import { quoteIdentifier } from '../../database/sql.ts'
import { OperatorError } from '../../lib/errors.ts'
import { suggestion } from '../../lib/suggestion.ts'

/**
 * A starter for the cases of a table: what most tables want, to be made true or changed. Pure.
 *
 * @throws OperatorError when there is no such table
 */
export function scaffoldCases({ relations }: Catalog, collection: string): string {
  const relation = relations.get(collection)
  if (relation === undefined) {
    throw new OperatorError(
      `collection not found: ${collection}${suggestion(collection, [...relations.keys()])}`,
    )
  }
  const owner = relation.columns.find((column) => isOwner(relation, column))
  const asOwner = owner === undefined ? '' : `${quoteKey(owner.name)} = ":alice", `
  const table = [...(collection === relation.name ? [] : [relation.schema]), relation.name]
    .map(quoteName)
    .join('.')
  const required = relation.columns.filter((column) => isRequired(column) && column !== owner)
  const names = [...(owner === undefined ? [] : [owner]), ...required].map(({ name }) => quoteName(name))
  const samples = required.map(sampleOf)
  const insert = (user: string) =>
    `insert into ${table} (${names.join(', ')}) values (${[...(owner === undefined ? [] : [`:'${user}'`]), ...samples].join(', ')});`
  const rows = names.length === 0 ? `insert into ${table} default values;` : insert('alice')
  const values = required.map((column) => `${quoteKey(column.name)} = ${exampleOf(column)}`).join(', ')
  const shown = quoteString(collection)
  return `# Who sees and changes which rows of ${collection.replaceAll(/[\s\p{Cc}]/gu, ' ')}: \`basalt policy test\` runs these cases. They say what most tables
# want; make them true by policies, or say what you want instead.

setup = """
${escapeControls(rows.replaceAll('\\', '\\\\').replaceAll('""', '"\\"'))}
"""

[users.alice]
[users.bob]

[[case]]
name = "alice sees what is hers"
as = "alice"
list = ${shown}
rows = [{ ${asOwner === '' ? '' : asOwner.slice(0, -2)} }]

[[case]]
name = "bob sees nothing of it"
as = "bob"
list = ${shown}
rows = []

[[case]]
name = "alice adds a row of her own"
as = "alice"
create = ${shown}
values = { ${values} }

[[case]]
name = "bob adds no row for alice"
as = "bob"
create = ${shown}
values = { ${asOwner}${values} }
refused = true

[[case]]
name = "without a token there is nothing to see"
as = "anonymous"
list = ${shown}
refused = true
`
}

/** A reference to the users, or what the database fills in with the caller's id. */
function isOwner({ foreignKeys }: Relation, { name, default: fallback, type }: Column): boolean {
  if (type.base !== 'uuid') return false
  const refersToUsers = foreignKeys.some(
    ({ columns, referencedSchema, referencedTable }) =>
      columns.length === 1 &&
      columns[0] === name &&
      referencedSchema === 'basalt' &&
      referencedTable === 'users',
  )
  return refersToUsers || fallback?.includes('basalt.user_id') === true
}

function isRequired({ nullable, default: fallback, identity, isGenerated }: Column): boolean {
  return !nullable && fallback === undefined && identity === undefined && !isGenerated
}

/** As SQL. */
function sampleOf({ type }: Column): string {
  if (type.json === 'boolean') return 'true'
  if (type.json === 'integer' || type.json === 'number') return '1'
  if (type.enumLabels?.[0] !== undefined) return `'${type.enumLabels[0].replaceAll("'", "''")}'`
  if (type.base === 'uuid') return 'gen_random_uuid()'
  if (/^(date|timestamp)/.test(type.base)) return 'now()'
  return type.json === 'array' || type.json === 'object' ? "'{}'" : "'sample'"
}

/** As TOML. */
function exampleOf({ type }: Column): string {
  if (type.json === 'boolean') return 'true'
  if (type.json === 'integer' || type.json === 'number') return '1'
  if (type.enumLabels?.[0] !== undefined) return quoteString(type.enumLabels[0])
  if (type.base === 'uuid') return '"00000000-0000-4000-8000-000000000001"'
  if (/^(date|timestamp)/.test(type.base)) return '"2026-01-01T00:00:00Z"'
  if (type.json === 'array') return '[]'
  return type.json === 'object' ? '{}' : '"sample"'
}

/** As SQL, quoted where it is not plain. */
function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteIdentifier(name)
}

function quoteKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : quoteString(name)
}

/** As a string of TOML: the escapes of JSON's, and DEL (TOML, String). */
function quoteString(text: string): string {
  return escapeControls(JSON.stringify(text))
}

function escapeControls(text: string): string {
  return text.replaceAll(
    /[^\P{Cc}\t\n]/gu,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
