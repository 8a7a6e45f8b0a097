import { parseColumnTags } from '../../../../database/catalog/column-tags.ts'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import type { Caller } from './caller.ts'
import { withCatalog } from './catalog-access.ts'

/** Catalogs of viewers by the snapshots that they derive from. */
const derived = new WeakMap<Catalog, Catalog>()

/** Runs a read as {@link withCatalog}, on the catalog as the caller may see it. */
export function withCatalogOf<Result>(
  live: LiveCatalog,
  caller: Pick<Caller, 'scope'>,
  work: (catalog: Catalog) => Promise<Result>,
): Promise<Result> {
  return withCatalog(live, (catalog) => work(catalogFor(catalog, caller)))
}

/**
 * Returns the catalog as the caller may see it. For viewers it has no personal columns, so that no plan, cursor,
 * version or message can contain one. It has no functions and no relations other than tables either, because these may
 * read personal columns under other names.
 */
function catalogFor(catalog: Catalog, { scope }: Pick<Caller, 'scope'>): Catalog {
  if (scope.kind !== 'unrestricted' || scope.hidesPersonal !== true) return catalog
  let found = derived.get(catalog)
  if (found === undefined) {
    found = withoutPersonal(catalog)
    derived.set(catalog, found)
  }
  return found
}

function withoutPersonal(catalog: Catalog): Catalog {
  const tables = [...catalog.relations].filter(
    ([, { kind }]) => kind === 'table' || kind === 'partitioned_table',
  )
  const visible = new Map(tables.map(([name, relation]) => [name, visibleColumnsOf(relation)]))
  const relations = new Map(tables.map(([name, relation]) => [name, reduce(relation, visible)]))
  return { ...catalog, relations, partitions: new Map(), functions: [], procedures: new Map() }
}

/** Types of columns that usually hold a part of another column's text. */
const derivedTypes = new Set(['tsvector', 'vector', 'halfvec', 'sparsevec'])

/** Returns the columns that are not personal. In a table with personal ones, derived columns count as personal, too. */
function visibleColumnsOf({ columns }: Relation): ReadonlyMap<string, Column> {
  const plain = columns.filter(({ comment }) => !parseColumnTags(comment).isPersonal)
  const isMixed = plain.length < columns.length
  const isDerived = ({ isGenerated, type }: Column) => isGenerated || derivedTypes.has(type.base)
  return new Map(
    plain.filter((column) => !(isMixed && isDerived(column))).map((column) => [column.name, column]),
  )
}

function reduce(relation: Relation, visible: ReadonlyMap<string, ReadonlyMap<string, Column>>): Relation {
  const column = visible.get(relation.collection) ?? new Map<string, Column>()
  const isVisible = (names: readonly string[]) => names.every((name) => column.has(name))
  const isKey = (columns: readonly Column[]) => isVisible(columns.map(({ name }) => name))
  const relationships = [...relation.relationships].filter(([, { target, pairs }]) => {
    const other = visible.get(target)
    return other !== undefined && pairs.every(({ from, to }) => column.has(from) && other.has(to))
  })
  return {
    ...relation,
    columns: [...column.values()],
    column,
    primaryKey: isKey(relation.primaryKey) ? relation.primaryKey : [],
    rowKey: isKey(relation.rowKey) ? relation.rowKey : [],
    uniqueKeys: relation.uniqueKeys.filter(({ columns }) => isVisible(columns)),
    conflictKeys: relation.conflictKeys.filter(isKey),
    checks: [],
    foreignKeys: relation.foreignKeys.filter(({ columns }) => isVisible(columns)),
    relationships: new Map(relationships),
    indexes: relation.indexes.filter(({ columns = [] }) => isVisible(columns)),
  }
}
