import type { Catalog, Relation } from './model.ts'

export interface RelationChange {
  readonly change: 'created' | 'altered' | 'dropped'
  /** As it is now, or was before it was dropped. */
  readonly relation: Relation
}

/** What became of the relations between two snapshots. Pure. */
export function compareCatalogs(before: Catalog, after: Catalog): RelationChange[] {
  const dropped = [...before.relations.values()].filter(({ collection }) => !after.relations.has(collection))
  const present = [...after.relations.values()].flatMap((relation): RelationChange[] => {
    const earlier = before.relations.get(relation.collection)
    if (earlier === undefined) return [{ change: 'created', relation }]
    return describe(earlier) === describe(relation) ? [] : [{ change: 'altered', relation }]
  })
  return [...dropped.map((relation) => ({ change: 'dropped', relation }) as const), ...present]
}

export interface Rename {
  readonly from: Relation
  readonly to: Relation
}

/** What has another name, unless another relation has taken the one before: tables that are swapped keep theirs. */
export function findRenames(before: Catalog, after: Catalog): Rename[] {
  const earlier = new Map([...before.relations.values()].map((relation) => [relation.oid, relation]))
  return [...after.relations.values()].flatMap((to) => {
    const from = earlier.get(to.oid)
    return from === undefined || after.relations.has(from.collection) ? [] : [{ from, to }]
  })
}

/** Everything that is defined on the relation itself; its relationships are defined on both sides. */
function describe({ column: _, relationships: __, ...own }: Relation): string {
  return JSON.stringify(own)
}

/**
 * Whether signed-in callers, or requests without a token, reach rows of it that no policy guards. A view has the policies
 * of what it reads.
 */
export function isUnguarded(
  { kind, rlsEnabled, ...privileges }: Relation,
  from: 'callers' | 'anonymous',
): boolean {
  const isTable = kind === 'table' || kind === 'partitioned_table'
  return isTable && !rlsEnabled && Object.values(privileges[from]).some(Boolean)
}
