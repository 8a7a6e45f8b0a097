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

/** Tokens of a node tree: an escaped character, a brace, or a field of a column of the result. */
const tokens = /\\.|[{}]|:(resno|resorigtbl|resorigcol|resjunk) (\S+?)(?=[ }])/gs

/** Depth of the fields of a rule's columns: its query is at depth 1, and subqueries are deeper. */
const columnDepth = 2

function parseRule(rule: string): ViewOrigins {
  const origins = new Map<number, ColumnOrigin>()
  const fields = new Map<string, string>()
  let depth = 0
  for (const [token, name, value = ''] of rule.matchAll(tokens)) {
    if (token === '{') depth += 1
    else if (token === '}') depth -= 1
    else if (name !== undefined && depth === columnDepth) {
      fields.set(name, value)
      if (name !== 'resjunk') continue
      const oid = fields.get('resorigtbl') ?? '0'
      const position = Number(fields.get('resorigcol'))
      if (value === 'false' && oid !== '0' && position > 0) {
        origins.set(Number(fields.get('resno')), {
          oid,
          position,
          path: [],
          isOfOneRow: readsOnce(rule, oid),
        })
      }
    }
  }
  return origins
}

/** Returns true if the rule reads the relation once, without any subquery. */
function readsOnce(rule: string, oid: string): boolean {
  return count(rule, '{QUERY ') === 1 && count(rule, `:rtekind 0 :relid ${oid} `) === 1
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}
