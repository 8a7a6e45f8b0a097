import type { Relationship } from './model.ts'

/** A foreign key with both of its relations exposed. */
export interface ForeignKeyEdge {
  readonly constraint: string
  readonly from: { readonly collection: string; readonly table: string; readonly columns: readonly string[] }
  readonly to: { readonly collection: string; readonly table: string; readonly columns: readonly string[] }
  /** A partition's copy of its parent's key: the partition can follow it, but no row is listed through it. */
  readonly isInherited: boolean
}

/**
 * Names the relations that can be expanded, per collection.
 *
 * Many-to-one: the column without `_id`, else the referenced table. One-to-many: the referencing table. When a
 * name is taken (many-to-one first, then by constraint name), the key's columns tell the later one apart:
 * `match_by_away_team_id`.
 */
export function nameRelationships(edges: readonly ForeignKeyEdge[]): Map<string, Map<string, Relationship>> {
  const byCollection = new Map<string, Map<string, Relationship>>()
  const ordered = [...edges].sort((one, other) => compareText(one.constraint, other.constraint))
  const add = (
    collection: string,
    edge: ForeignKeyEdge,
    wanted: string,
    relationship: Omit<Relationship, 'name'>,
  ) => {
    const named = byCollection.get(collection) ?? new Map<string, Relationship>()
    byCollection.set(collection, named)
    const candidates = [wanted, `${wanted}_by_${edge.from.columns.join('_')}`, edge.constraint]
    const name = candidates.find((candidate) => !named.has(candidate))
    if (name !== undefined) named.set(name, { ...relationship, name })
  }
  for (const edge of ordered) {
    const pairs = edge.from.columns.map((from, index) => ({ from, to: edge.to.columns[index] ?? '' }))
    add(edge.from.collection, edge, manyToOneName(edge), {
      kind: 'many-to-one',
      constraint: edge.constraint,
      target: edge.to.collection,
      pairs,
    })
  }
  for (const edge of ordered) {
    if (edge.isInherited) continue
    const pairs = edge.from.columns.map((to, index) => ({ from: edge.to.columns[index] ?? '', to }))
    add(edge.to.collection, edge, edge.from.table, {
      kind: 'one-to-many',
      constraint: edge.constraint,
      target: edge.from.collection,
      pairs,
    })
  }
  return byCollection
}

function manyToOneName({ from, to }: ForeignKeyEdge): string {
  const [column = ''] = from.columns
  return from.columns.length === 1 && /._id$/.test(column) ? column.slice(0, -'_id'.length) : to.table
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
