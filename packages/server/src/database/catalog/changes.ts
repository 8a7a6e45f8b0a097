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
  /** The same, where only columns have another name. */
  readonly to: Relation
  /** The new names of columns, by those before. */
  readonly columns: Readonly<Record<string, string>>
}

/** What has another name, unless another one has taken the name before: tables and columns that are swapped keep theirs. */
export function findRenames(before: Catalog, after: Catalog): Rename[] {
  const earlier = new Map([...before.relations.values()].map((relation) => [relation.oid, relation]))
  return [...after.relations.values()].flatMap((to) => {
    const from = earlier.get(to.oid)
    if (from === undefined) return []
    const isMoved = from.collection !== to.collection
    if (isMoved && after.relations.has(from.collection)) return []
    const columns = findRenamedColumns(from, to)
    return isMoved || columns.length > 0 ? [{ from, to, columns: Object.fromEntries(columns) }] : []
  })
}

function findRenamedColumns(from: Relation, to: Relation): (readonly [from: string, to: string])[] {
  const later = new Map(to.columns.map(({ position, name }) => [position, name]))
  return from.columns.flatMap(({ position, name }) => {
    const renamed = later.get(position)
    return renamed === undefined || to.column.has(name) ? [] : [[name, renamed]]
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
  { kind, rlsEnabled, rlsGap, ...privileges }: Relation,
  from: 'callers' | 'anonymous',
): boolean {
  const isTable = kind === 'table' || kind === 'partitioned_table'
  return isTable && !rlsEnabled && rlsGap === undefined && Object.values(privileges[from]).some(Boolean)
}

/** Returns whether callers have grants on it and `database.require_rls` keeps it from them. */
export function isClosed({ rlsGap, callers, anonymous, isOfExtension }: Relation): boolean {
  if (rlsGap === undefined || isOfExtension) return false
  return [callers, anonymous].some((privileges) => Object.values(privileges).some(Boolean))
}
