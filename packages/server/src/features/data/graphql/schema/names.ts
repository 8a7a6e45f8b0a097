import type { Catalog, Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import { scalars } from './scalars.ts'

/** Names that a relation and its parts have in the schema. They are the same for every caller. */
export interface TableNames {
  /** Field of `Query`, and part of the names of mutations. */
  readonly table: string
  /** Object type: as `table`, unless a scalar has that name. */
  readonly type: string
  /** Beginning of the names of its inputs: `InvoiceLine`. */
  readonly pascal: string
  readonly columns: ReadonlyMap<string, Column>
  /** Columns of a caller who may write but not read them. */
  readonly hidden: ReadonlyMap<string, Column>
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

  has(name: string): boolean {
    return this.#names.has(name)
  }

  claim(wanted: string): string {
    let name = wanted
    while (this.#names.has(name)) name += '_'
    this.#names.add(name)
    return name
  }
}

/** Scalars of every schema. No table's type has one of their names. */
export const scalarNames: readonly string[] = [
  ...['Int', 'Float', 'String', 'Boolean', 'ID'],
  ...scalars.map(({ name }) => name),
]

/** Members of every filter beside the columns. */
const filterMembers = ['_and', '_or', '_not']

/**
 * Returns the text as a GraphQL name: letters, digits and underscores, not beginning with a digit or two underscores
 * (GraphQL specification, Names).
 */
export function toGraphqlName(text: string): string {
  const name = text.replace(/[^_0-9A-Za-z]/g, '_').replace(/^__+/, '_')
  return /^[_A-Za-z]/.test(name) ? name : `_${name}`
}

/** Returns the name of an enum value, which is none of `true`, `false` and `null` (GraphQL specification, Enum Value). */
export function toValueName(label: string): string {
  const name = toGraphqlName(label)
  return ['true', 'false', 'null'].includes(name) ? `${name}_` : name
}

export function toPascal(name: string): string {
  return name
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}

const namesOf = new WeakMap<Catalog, ReadonlyMap<Relation, TableNames>>()

/**
 * Names all relations of the catalog and what belongs to them. Names that need no change are given first. A generated
 * one gives way to the name of a table or column.
 */
export function nameTables(catalog: Catalog): ReadonlyMap<Relation, TableNames> {
  const known = namesOf.get(catalog)
  if (known !== undefined) return known
  const relations = [...catalog.relations.values()]
  const tables = nameAll(relations, ({ collection }) => collection)
  const types = nameAll(relations, (relation) => tables.get(relation) ?? '', new Namespace(scalarNames))
  const pascals = nameAll(relations, (relation) => toPascal(tables.get(relation) ?? ''))
  const named = new Map(
    relations.map((relation) => {
      const [table = '', type = '', pascal = ''] = [tables, types, pascals].map((each) => each.get(relation))
      return [relation, { table, type, pascal, hidden: new Map(), ...nameFields(relation) }]
    }),
  )
  namesOf.set(catalog, named)
  return named
}

function nameFields(relation: Relation): Pick<TableNames, 'columns' | 'relationships' | 'aggregates'> {
  const fields = new Namespace(filterMembers)
  const columns = invert(nameAll(relation.columns, ({ name }) => name, fields))
  const related = [...relation.relationships.values()]
  const relationships = invert(nameAll(related, ({ name }) => name, fields))
  const aggregates = new Map(
    [...relationships]
      .filter(([, { kind }]) => kind === 'one-to-many')
      .map(([name, relationship]) => [fields.claim(`${name}_aggregate`), relationship]),
  )
  return { columns, relationships, aggregates }
}

/** Names the items, first those whose names need no change. */
export function nameAll<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  names = new Namespace(),
): ReadonlyMap<Item, string> {
  const isKept = (item: Item) => toGraphqlName(textOf(item)) === textOf(item) && !names.has(textOf(item))
  const kept = new Set(items.filter(isKept))
  const inOrder = [...kept, ...items.filter((item) => !kept.has(item))]
  const given = new Map(inOrder.map((item) => [item, names.claim(toGraphqlName(textOf(item)))]))
  return new Map(items.map((item) => [item, given.get(item) ?? '']))
}

/** Names the columns of rows that are no records of a table. */
export function nameResult({ columns }: Pick<Relation, 'columns'>, type: string): TableNames {
  return {
    ...{ table: type, type, pascal: type },
    columns: invert(nameAll(columns, ({ name }) => name, new Namespace(filterMembers))),
    hidden: new Map(),
    relationships: new Map(),
    aggregates: new Map(),
  }
}

export function invert<Item>(named: ReadonlyMap<Item, string>): ReadonlyMap<string, Item> {
  return new Map([...named].map(([item, name]) => [name, item]))
}
