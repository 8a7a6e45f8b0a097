import type { Relationship } from './model.ts'
import { parseRelationNames, type RelationNames } from './relation-comments.ts'

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
 */
export function nameRelationships(edges: readonly ForeignKeyEdge[]): NamedRelationships {
  return nameInOrder(edges, byPosition, ({ comment }) => parseRelationNames(comment))
}

/** Names them by the old rule: by the names of constraints, whatever the comments. */
export function nameByConstraint(edges: readonly ForeignKeyEdge[]): NamedRelationships {
  return nameInOrder(
    edges,
    (one, other) => compareText(one.constraint, other.constraint),
    () => ({}),
  )
}

function nameInOrder(
  edges: readonly ForeignKeyEdge[],
  order: Order,
  namesOf: (edge: ForeignKeyEdge) => RelationNames,
): NamedRelationships {
  const byCollection: NamedRelationships = new Map()
  const ordered = edges.toSorted(order).map((edge) => ({ edge, names: namesOf(edge) }))
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
  const sides = ordered.flatMap(({ edge, names }) => [
    { edge, given: names.name, wanted: manyToOneName(edge), relationship: manyToOne(edge) },
  ])
  const reverses = ordered.flatMap(({ edge, names }) =>
    edge.isInherited
      ? []
      : [{ edge, given: names.reverseName, wanted: edge.from.table, relationship: oneToMany(edge) }],
  )
  const homeOf = ({ edge, relationship }: (typeof sides)[number]) =>
    relationship.kind === 'many-to-one' ? edge.from.collection : edge.to.collection
  const all = [...sides, ...reverses]
  // An explicit name precedes all derived ones.
  const unnamed = all.filter(
    (side) => side.given === undefined || !add(homeOf(side), [side.given], side.relationship),
  )
  for (const side of unnamed) {
    const { constraint, from } = side.edge
    const candidates = [side.wanted, `${side.wanted}_by_${from.columns.join('_')}`, constraint]
    add(homeOf(side), candidates, side.relationship)
  }
  return new Map([...byCollection].map(([collection, named]) => [collection, inListOrder(named)]))
}

function manyToOne({ constraint, comment, from, to }: ForeignKeyEdge): Omit<Relationship, 'name'> {
  const pairs = from.columns.map((column, index) => ({ from: column, to: to.columns[index] ?? '' }))
  return { kind: 'many-to-one', constraint, comment, target: to.collection, pairs }
}

function oneToMany({ constraint, comment, from, to }: ForeignKeyEdge): Omit<Relationship, 'name'> {
  const pairs = from.columns.map((column, index) => ({ from: to.columns[index] ?? '', to: column }))
  return { kind: 'one-to-many', constraint, comment, target: from.collection, pairs }
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
