/** Relation names in the comment on a foreign key. */
export interface RelationNames {
  /** Name of the record that a key refers to, in `expand` and in filters. */
  readonly name?: string
  /** Name of the records that refer to one. */
  readonly reverseName?: string
}

export type RelationDirective = '@name' | '@reverse_name'

const lines = /^[ \t]*(@name|@reverse_name)[ \t]+(\S+)[ \t]*$/gm

/** Pattern of names in `expand` and filters: letters of any script, digits and `_`. */
const usable = /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u

/**
 * Parses lines such as `@name author`; other lines are for people. A name that a request cannot contain is
 * ignored.
 */
export function parseRelationNames(comment: string | undefined): RelationNames {
  const given = namesIn(comment)
  const name = given.get('@name')
  const reverseName = given.get('@reverse_name')
  return {
    ...(name !== undefined && usable.test(name) ? { name } : {}),
    ...(reverseName !== undefined && usable.test(reverseName) ? { reverseName } : {}),
  }
}

/** Returns the names in the comment, usable or not; the first line of a kind counts. */
export function namesIn(comment = ''): ReadonlyMap<RelationDirective, string> {
  const found = [...comment.matchAll(lines)].map(
    ([, directive, name = '']) => [directive as RelationDirective, name] as const,
  )
  return new Map(found.reverse())
}

/** Writes the names into a comment and keeps its other lines. */
export function withRelationNames(
  comment: string | undefined,
  names: ReadonlyMap<RelationDirective, string>,
): string {
  const kept = (comment ?? '')
    .replaceAll(lines, (line, directive: RelationDirective) => (names.has(directive) ? '' : line))
    .split('\n')
    .filter((line) => line.trim() !== '')
  return [...[...names].map(([directive, name]) => `${directive} ${name}`), ...kept].join('\n')
}
