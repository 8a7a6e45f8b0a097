/** Values of a function that are never NULL, as its comment says. PostgreSQL cannot declare it. */
export interface NotNullValues {
  /** True if the result is never NULL: the value, the row, or each element of a set. */
  readonly result: boolean
  /** Names of parameters and of columns of the result. */
  readonly names: ReadonlySet<string>
}

const line = /^[ \t]*@not_null(?:[ \t]+(.*?))?[ \t]*$/gm

/**
 * Parses lines such as `@not_null`, for the result, and `@not_null title, owner`, for parameters and columns of the
 * result. Other lines are for people. A name with blanks or commas is quoted.
 */
export function parseNotNullValues(comment = ''): NotNullValues {
  const lists = [...comment.matchAll(line)].map(([, names]) => names ?? '')
  const names = lists.flatMap((list) =>
    [...list.matchAll(/"((?:[^"]|"")+)"|[^\s,"]+/g)].map(
      ([name, quoted]) => quoted?.replaceAll('""', '"') ?? name,
    ),
  )
  return { result: lists.includes(''), names: new Set(names) }
}
