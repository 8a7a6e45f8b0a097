import type { Catalog, Relation } from './model.ts'

export interface RelationChange {
  readonly change: 'created' | 'altered' | 'dropped'
  /** Current relation, or the last state of a dropped one. */
  readonly relation: Relation
}

/** Compares the relations of two snapshots. Pure. */
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
  /** Renamed relation, or the same one where only columns have new names. */
  readonly to: Relation
  /** New names of columns, by the old ones. */
  readonly columns: Readonly<Record<string, string>>
}

/**
 * Finds renamed relations and columns. Names that another one had before are skipped, so swapped tables and
 * columns keep theirs.
 */
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

/**
 * Returns a text of everything that is defined on the relation itself; its relationships are defined on both
 * sides.
 */
function describe({ column: _, relationships: __, ...own }: Relation): string {
  return JSON.stringify(own)
}

/**
 * Returns true if signed-in callers, or requests without a token, can access unguarded rows. A view has the
 * policies of the tables that it reads.
 */
export function isUnguarded(
  { kind, rlsEnabled, rlsGap, ...privileges }: Relation,
  from: 'callers' | 'anonymous',
): boolean {
  const isTable = kind === 'table' || kind === 'partitioned_table'
  return isTable && !rlsEnabled && rlsGap === undefined && Object.values(privileges[from]).some(Boolean)
}

/** Returns true if callers have grants on the relation, but `database.require_rls` closes it to them. */
export function isClosed({ rlsGap, callers, anonymous, isOfExtension }: Relation): boolean {
  if (rlsGap === undefined || isOfExtension) return false
  return [callers, anonymous].some((privileges) => Object.values(privileges).some(Boolean))
}
