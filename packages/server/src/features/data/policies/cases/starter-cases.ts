import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import { quoteName } from '../../../../database/sql.ts'
import { OperatorError } from '../../../../lib/errors.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { renderCaseFile } from './case-file.ts'

/**
 * Renders starter cases for a table: common expectations, to be met or changed. Pure.
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
  const own = owner === undefined ? {} : { [owner.name]: ':alice' }
  const table = [...(collection === relation.name ? [] : [relation.schema]), relation.name]
    .map(quoteName)
    .join('.')
  const required = relation.columns.filter((column) => isRequired(column) && column !== owner)
  const names = [...(owner === undefined ? [] : [owner]), ...required].map(({ name }) => quoteName(name))
  const samples = [...(owner === undefined ? [] : [":'alice'"]), ...required.map(sampleOf)]
  const values = Object.fromEntries(required.map((column) => [column.name, exampleOf(column)]))
  return renderCaseFile({
    comment: [
      `Who sees and changes which rows of ${collection}: \`basalt policy test\` runs these cases. They say what most tables`,
      'want; make them true by policies, or say what you want instead.',
    ],
    setup: [
      names.length === 0
        ? `insert into ${table} default values;`
        : `insert into ${table} (${names.join(', ')}) values (${samples.join(', ')});`,
    ],
    users: { alice: {}, bob: {} },
    cases: [
      { name: 'alice sees what is hers', as: 'alice', list: collection, rows: [own] },
      { name: 'bob sees nothing of it', as: 'bob', list: collection, rows: [] },
      { name: 'alice adds a row of her own', as: 'alice', create: collection, values },
      {
        name: 'bob adds no row for alice',
        as: 'bob',
        create: collection,
        values: { ...own, ...values },
        refused: true,
      },
      {
        name: 'without a token there is nothing to see',
        as: 'anonymous',
        list: collection,
        refused: true,
      },
    ],
  })
}

/** Returns whether a column refers to the users, or has the caller's id as its default. */
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

/** Returns a sample value as SQL. */
function sampleOf({ type }: Column): string {
  if (type.json === 'boolean') return 'true'
  if (type.json === 'integer' || type.json === 'number') return '1'
  if (type.enumLabels?.[0] !== undefined) return `'${type.enumLabels[0].replaceAll("'", "''")}'`
  if (type.base === 'uuid') return 'gen_random_uuid()'
  if (/^(date|timestamp)/.test(type.base)) return 'now()'
  return type.json === 'array' || type.json === 'object' ? "'{}'" : "'sample'"
}

/** Returns a sample value as in a request. */
function exampleOf({ type }: Column): unknown {
  if (type.json === 'boolean') return true
  if (type.json === 'integer' || type.json === 'number') return 1
  if (type.enumLabels?.[0] !== undefined) return type.enumLabels[0]
  if (type.base === 'uuid') return '00000000-0000-4000-8000-000000000001'
  if (/^(date|timestamp)/.test(type.base)) return '2026-01-01T00:00:00Z'
  if (type.json === 'array') return []
  return type.json === 'object' ? {} : 'sample'
}
