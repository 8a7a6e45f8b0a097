/** Values of a function that its comment marks with a tag. PostgreSQL has no syntax for them. */
export interface MarkedValues {
  /** True for the result: the value, the row, or each element of a set. */
  readonly result: boolean
  /** Names of parameters and of columns of the result. */
  readonly names: ReadonlySet<string>
}

export interface FunctionComment {
  /** Values that are never NULL. */
  readonly notNull: MarkedValues
  /** Values that are a number of rows. */
  readonly count: MarkedValues
}

const line = /^[ \t]*@(not_null|count)(?:[ \t]+(.*?))?[ \t]*$/gm

/**
 * Parses lines such as `@not_null`, for the result, and `@not_null title, owner`, for parameters and columns of the
 * result, and the same with `@count`. Other lines are for people. A name with blanks or commas is quoted.
 */
export function parseFunctionComment(comment = ''): FunctionComment {
  const lines = [...comment.matchAll(line)]
  const marked = (tag: string): MarkedValues => {
    const lists = lines.flatMap(([, found, names = '']) => (found === tag ? [names] : []))
    const names = lists.flatMap((list) =>
      [...list.matchAll(/"((?:[^"]|"")+)"|[^\s,"]+/g)].map(
        ([name, quoted]) => quoted?.replaceAll('""', '"') ?? name,
      ),
    )
    return { result: lists.includes(''), names: new Set(names) }
  }
  return { notNull: marked('not_null'), count: marked('count') }
}
