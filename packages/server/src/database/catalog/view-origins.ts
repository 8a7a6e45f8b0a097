import { readTargetList } from './target-list.ts'

/** Column of a table whose values a column of a view has. */
export interface ColumnOrigin {
  readonly oid: string
  readonly position: number
  /** Views between, from the outer to the inner. */
  readonly path: readonly string[]
  /** True if all columns with the same path are of one row. */
  readonly isOfOneRow: boolean
}

/** Origins of a view's columns by position. Computed columns have none. */
export type ViewOrigins = ReadonlyMap<number, ColumnOrigin>

/**
 * Finds the origins of the columns of views, by the views' object ids. PostgreSQL notes in the rule of a view which
 * columns show the column of a relation unchanged, also through joins and subqueries. Through views it is followed
 * here. Pure.
 */
export function findOrigins(
  rules: readonly { readonly relation_oid: string; readonly rule: string }[],
): ReadonlyMap<string, ViewOrigins> {
  const parsed = new Map(rules.map(({ relation_oid: oid, rule }) => [oid, parseRule(rule)]))
  const follow = (view: string, origin: ColumnOrigin): ColumnOrigin | undefined => {
    const inner = parsed.get(origin.oid)
    if (inner === undefined) return { ...origin, path: [view] }
    const found = inner.get(origin.position)
    const end = found && follow(origin.oid, found)
    return end && { ...end, path: [view, ...end.path], isOfOneRow: origin.isOfOneRow && end.isOfOneRow }
  }
  return new Map(
    [...parsed].map(([view, origins]) => [
      view,
      new Map(
        [...origins].flatMap(([position, origin]) => {
          const end = follow(view, origin)
          return end === undefined ? [] : [[position, end] as const]
        }),
      ),
    ]),
  )
}

function parseRule(rule: string): ViewOrigins {
  return new Map(
    readTargetList(rule).flatMap(({ position, origin }): [number, ColumnOrigin][] => {
      if (origin === undefined) return []
      const { relation: oid, position: column } = origin
      return [[position, { oid, position: column, path: [], isOfOneRow: readsOnce(rule, oid) }]]
    }),
  )
}

/** Returns true if the rule reads the relation once, without any subquery. */
function readsOnce(rule: string, oid: string): boolean {
  return count(rule, '{QUERY ') === 1 && count(rule, `:rtekind 0 :relid ${oid} `) === 1
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}
