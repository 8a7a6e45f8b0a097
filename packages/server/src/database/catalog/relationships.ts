import type { Relationship } from './model.ts'
import { parseRelationNames } from './relation-comments.ts'

/** Foreign key between two exposed relations. */
export interface ForeignKeyEdge {
  readonly constraint: string
  readonly from: EdgeEnd & {
    /**
     * Position of the key's first column in the table. Added columns are the last ones, and dump and restore
     * keep the order.
     */
    readonly position: number
  }
  readonly to: EdgeEnd
  /**
   * True for a partition's copy of its parent's key. The partition can follow it, but no row is listed through
   * it.
   */
  readonly isInherited: boolean
  readonly comment: string | undefined
}

export interface EdgeEnd {
  readonly collection: string
  readonly schema: string
  readonly table: string
  readonly columns: readonly string[]
}

/** Column of a view that shows a column of a table unchanged. */
export interface ViewColumn {
  readonly view: Omit<EdgeEnd, 'columns'>
  readonly name: string
  readonly position: number
  /** Collection of the table. */
  readonly table: string
  readonly column: string
  /** Equal for columns of the view that are of the same row of the table; undefined if that is unknown. */
  readonly row: string | undefined
}

/** Side of a foreign key whose columns a view shows. */
export interface ViewKey {
  readonly edge: ForeignKeyEdge
  readonly kind: Relationship['kind']
  /** The view, with its columns in the order of the key. */
  readonly view: ForeignKeyEdge['from']
}

/**
 * Finds the sides of foreign keys that views show. Several columns of a key have to be of the same row. Pure.
 */
export function findViewKeys(edges: readonly ForeignKeyEdge[], columns: readonly ViewColumn[]): ViewKey[] {
  const byColumn = Map.groupBy(columns, ({ table, column }) => JSON.stringify([table, column]))
  const find = (edge: ForeignKeyEdge, kind: Relationship['kind'], end: EdgeEnd): ViewKey[] => {
    const [first = [], ...others] = end.columns.map(
      (column) => byColumn.get(JSON.stringify([end.collection, column])) ?? [],
    )
    return first.flatMap((column) => {
      const rest = others.map((some) =>
        some.find(
          ({ view, row }) =>
            view.collection === column.view.collection && row !== undefined && row === column.row,
        ),
      )
      const all = [column, ...rest].flatMap((each) => each ?? [])
      if (all.length < end.columns.length) return []
      const names = all.map(({ name }) => name)
      return [{ edge, kind, view: { ...column.view, columns: names, position: column.position } }]
    })
  }
  return edges.flatMap((edge) => [
    ...find(edge, 'many-to-one', edge.from),
    ...(edge.isInherited ? [] : find(edge, 'one-to-many', edge.to)),
  ])
}

/** Relations that can be expanded, by collection and name. */
export type NamedRelationships = Map<string, Map<string, Relationship>>

/** Order in which keys with the same name are named. */
type Order = (one: ForeignKeyEdge, other: ForeignKeyEdge) => number

/**
 * Names the relations that can be expanded, per collection. A comment on the constraint names them explicitly.
 * Otherwise these rules apply:
 *
 * - Many-to-one: the column without `_id`, else the referenced table. One-to-many: the referencing table.
 * - When keys of one table would have the same name, the key with the earlier first column gets it; on one
 *   column the constraint's name decides. Many-to-one precedes one-to-many, and a table of the same schema
 *   precedes others.
 * - The columns distinguish the later one: `match_by_away_team_id`.
 *
 * A view has the names that a table with its columns would have. A comment names a relation to one record where the
 * view shows the key under its own names.
 */
export function nameRelationships(
  edges: readonly ForeignKeyEdge[],
  viewKeys: readonly ViewKey[] = [],
): NamedRelationships {
  return nameInOrder([...edges.map(sidesOf), ...viewKeys.map(sideOfView)], byPosition)
}

/** Names them by the old rule: by the names of constraints, whatever the comments. */
export function nameByConstraint(edges: readonly ForeignKeyEdge[]): NamedRelationships {
  return nameInOrder(
    edges.map((edge) => sidesOf({ ...edge, comment: undefined })),
    (one, other) => compareText(one.constraint, other.constraint),
  )
}

/** Key with the relations that it gives. */
interface Sides {
  readonly edge: ForeignKeyEdge
  readonly sides: readonly Side[]
}

interface Side {
  /** Collection with the relation. */
  readonly home: string
  /** Explicit name. */
  readonly given: string | undefined
  readonly wanted: string
  readonly relationship: Omit<Relationship, 'name'>
}

function sidesOf(edge: ForeignKeyEdge): Sides {
  const names = parseRelationNames(edge.comment)
  const one = {
    home: edge.from.collection,
    given: names.name,
    wanted: manyToOneName(edge),
    relationship: manyToOne(edge),
  }
  const many = {
    home: edge.to.collection,
    given: names.reverseName,
    wanted: edge.from.table,
    relationship: oneToMany(edge),
  }
  return { edge, sides: edge.isInherited ? [one] : [one, many] }
}

function sideOfView({ edge, kind, view }: ViewKey): Sides {
  const shown = kind === 'many-to-one' ? { ...edge, from: view } : { ...edge, to: view }
  const isRenamed = kind === 'many-to-one' && view.columns.join() !== edge.from.columns.join()
  const sides = sidesOf(shown)
    .sides.filter(({ relationship }) => relationship.kind === kind)
    .map(({ given, relationship, ...side }) => ({
      ...side,
      given: isRenamed ? undefined : given,
      relationship: { ...relationship, isOfView: true },
    }))
  // Keys of views are in the order of the views' columns, on either side.
  return { edge: { ...shown, from: { ...shown.from, position: view.position } }, sides }
}

function nameInOrder(keys: readonly Sides[], order: Order): NamedRelationships {
  const byCollection: NamedRelationships = new Map()
  const ordered = keys.toSorted((one, other) => order(one.edge, other.edge))
  const add = (
    collection: string,
    candidates: readonly string[],
    relationship: Omit<Relationship, 'name'>,
  ) => {
    const named = byCollection.get(collection) ?? new Map<string, Relationship>()
    byCollection.set(collection, named)
    const name = candidates.find((candidate) => !named.has(candidate))
    if (name !== undefined) named.set(name, { ...relationship, name })
    return name !== undefined
  }
  const sides = ordered.flatMap(({ edge, sides: some }) => some.map((side) => ({ edge, ...side })))
  const isToMany = ({ relationship }: Side) => relationship.kind === 'one-to-many'
  const all = [...sides.filter((side) => !isToMany(side)), ...sides.filter(isToMany)]
  // An explicit name precedes all derived ones.
  const unnamed = all.filter(
    ({ home, given, relationship }) => given === undefined || !add(home, [given], relationship),
  )
  for (const { edge, home, wanted, relationship } of unnamed) {
    const candidates = [wanted, `${wanted}_by_${edge.from.columns.join('_')}`, edge.constraint]
    add(home, candidates, relationship)
  }
  return new Map([...byCollection].map(([collection, named]) => [collection, inListOrder(named)]))
}

function manyToOne({ constraint, comment, from, to }: ForeignKeyEdge): Omit<Relationship, 'name'> {
  const pairs = from.columns.map((column, index) => ({ from: column, to: to.columns[index] ?? '' }))
  return { kind: 'many-to-one', constraint, comment, isOfView: false, target: to.collection, pairs }
}

function oneToMany({ constraint, comment, from, to }: ForeignKeyEdge): Omit<Relationship, 'name'> {
  const pairs = from.columns.map((column, index) => ({ from: to.columns[index] ?? '', to: column }))
  return { kind: 'one-to-many', constraint, comment, isOfView: false, target: from.collection, pairs }
}

function manyToOneName({ from, to }: ForeignKeyEdge): string {
  const [column = ''] = from.columns
  return from.columns.length === 1 && /._id$/.test(column) ? column.slice(0, -'_id'.length) : to.table
}

/** Compares keys by position. Across tables nothing else is the same on every database. */
const byPosition: Order = (one, other) =>
  Number(isAbroad(one)) - Number(isAbroad(other)) ||
  compareText(one.from.collection, other.from.collection) ||
  one.from.position - other.from.position ||
  compareText(one.constraint, other.constraint)

function isAbroad({ from, to }: ForeignKeyEdge): boolean {
  return from.schema !== to.schema
}

/** Sorts relations for lists and documents. */
function inListOrder(named: ReadonlyMap<string, Relationship>): Map<string, Relationship> {
  return new Map(
    [...named].sort(
      ([, one], [, other]) =>
        Number(one.kind === 'one-to-many') - Number(other.kind === 'one-to-many') ||
        compareText(one.constraint, other.constraint),
    ),
  )
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
