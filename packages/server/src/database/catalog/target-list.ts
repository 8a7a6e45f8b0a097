/** Column of the outermost query of a view. */
export interface TargetEntry {
  /** Node of the entry, as text. */
  readonly node: string
  readonly position: number
  readonly name: string
  /** Column of a relation that the entry shows unchanged, also through joins and subqueries. */
  readonly origin: { readonly relation: string; readonly position: number } | undefined
}

/**
 * Lists the columns of a view from the definition in its rule, a tree of nodes as text (`pg_node_tree`). A view numbers
 * its columns as its target list does. Pure.
 */
export function readTargetList(rule: string): TargetEntry[] {
  return nodesOf(rule).flatMap((node): TargetEntry[] => {
    const match = entryEnd.exec(node)
    if (match === null) return []
    const [, number = '', name = '', relation = '', column = ''] = match
    const isColumn = relation !== '0' && Number(column) > 0
    const origin = isColumn ? { relation, position: Number(column) } : undefined
    return [{ node, position: Number(number), name: withoutBackslashes(name), origin }]
  })
}

/** End of an entry that is a column of the view, rather than one for sorting or grouping alone. */
const entryEnd =
  / :resno (\d+) :resname ((?:\\.|[^\\ ])+) :ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (-?\d+) :resjunk false\}$/s

/** Returns the elements of the target list of the outermost query. */
function nodesOf(rule: string): string[] {
  const nodes: string[] = []
  let depth = 0
  let start = -1
  let isList = false
  for (let index = 0; index < rule.length; index += 1) {
    const character = rule[index]
    // Special characters in a name or constant are preceded by a backslash.
    if (character === '\\') index += 1
    else if (character === '{' || character === '(') {
      // ({QUERY … :targetList ({TARGETENTRY …} …) …})
      if (depth === 2 && character === '(') isList = rule.endsWith(':targetList ', index)
      if (depth === 3 && isList) start = index
      depth += 1
    } else if (character === '}' || character === ')') {
      depth -= 1
      if (depth === 3 && isList && start !== -1) nodes.push(rule.slice(start, index + 1))
    }
  }
  return nodes
}

function withoutBackslashes(name: string): string {
  return name.replace(/\\(.)/gs, '$1')
}
