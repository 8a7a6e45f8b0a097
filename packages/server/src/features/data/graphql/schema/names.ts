import type { Catalog, Column, Relation, Relationship } from '../../../../database/catalog/model.ts'

/** Names that a relation and its parts have in the schema. */
export interface TableNames {
  /** Object type, and field of `Query`. */
  readonly table: string
  /** Beginning of the names of its inputs: `InvoiceLine`. */
  readonly pascal: string
  readonly columns: ReadonlyMap<string, Column>
  readonly relationships: ReadonlyMap<string, Relationship>
  /** Fields with figures over the records of a one-to-many relationship. */
  readonly aggregates: ReadonlyMap<string, Relationship>
}

/** Set of names in which each is given once. A later one gets underscores until it is free. */
export class Namespace {
  readonly #names = new Set<string>()

  constructor(reserved: Iterable<string> = []) {
    for (const name of reserved) this.#names.add(name)
  }

  claim(wanted: string): string {
    let name = wanted
    while (this.#names.has(name)) name += '_'
    this.#names.add(name)
    return name
  }
}

/** Scalars that the GraphQL specification defines; no other type can have their names. */
export const builtInScalars = ['Int', 'Float', 'String', 'Boolean', 'ID']

/**
 * Returns the text as a GraphQL name: letters, digits and underscores, not beginning with a digit or two underscores
 * (GraphQL specification, Names).
 */
export function toGraphqlName(text: string): string {
  const name = text.replace(/[^_0-9A-Za-z]/g, '_').replace(/^__+/, '_')
  return /^[_A-Za-z]/.test(name) ? name : `_${name}`
}

function toPascal(name: string): string {
  return name
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}

/**
 * Names the relations and what belongs to them. Names that need no change are given first; a generated one gives way to
 * the name of a table or column.
 */
export function nameTables(
  { relations }: Pick<Catalog, 'relations'>,
  isShown: (relation: Relation) => boolean,
  isReadable: (column: Column) => boolean,
  isFollowed: (relation: Relation, relationship: Relationship) => boolean,
): ReadonlyMap<Relation, TableNames> {
  const shown = [...relations.values()].filter(isShown)
  const tables = new Namespace(builtInScalars)
  const pascals = new Namespace()
  const named = nameAll(shown, ({ collection }) => collection, tables)
  return new Map(
    [...named].map(([relation, table]) => {
      const readable = relation.columns.filter(isReadable)
      const fields = new Namespace()
      const columns = invert(nameAll(readable, ({ name }) => name, fields))
      const followed = [...relation.relationships.values()].filter((each) => isFollowed(relation, each))
      const relationships = invert(nameAll(followed, ({ name }) => name, fields))
      const aggregates = new Map(
        [...relationships]
          .filter(([, { kind }]) => kind === 'one-to-many')
          .map(([name, relationship]) => [fields.claim(`${name}_aggregate`), relationship]),
      )
      return [relation, { table, pascal: pascals.claim(toPascal(table)), columns, relationships, aggregates }]
    }),
  )
}

function nameAll<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  names: Namespace,
): ReadonlyMap<Item, string> {
  const isValid = (item: Item) => toGraphqlName(textOf(item)) === textOf(item)
  const inOrder = [...items.filter(isValid), ...items.filter((item) => !isValid(item))]
  const given = new Map(inOrder.map((item) => [item, names.claim(toGraphqlName(textOf(item)))]))
  return new Map(items.map((item) => [item, given.get(item) ?? '']))
}

function invert<Item>(named: ReadonlyMap<Item, string>): ReadonlyMap<string, Item> {
  return new Map([...named].map(([item, name]) => [name, item]))
}
