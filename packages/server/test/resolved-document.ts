interface Node {
  readonly $ref?: string
  readonly allOf?: readonly Node[]
  readonly properties?: object
  readonly required?: readonly string[]
}

/**
 * Returns a part of an API document with its references resolved, and objects that extend others as one object. A
 * reference to an object within itself becomes an empty schema.
 */
export function resolveReferences(document: object, part: unknown, open: readonly string[] = []): unknown {
  if (Array.isArray(part)) return part.map((item) => resolveReferences(document, item, open))
  if (typeof part !== 'object' || part === null) return part
  const { $ref, allOf, ...members } = part as Node
  if ($ref !== undefined) {
    if (open.includes($ref)) return {}
    const target = $ref
      .split('/')
      .slice(1)
      .reduce<unknown>((node, name) => (node as Readonly<Record<string, unknown>>)[name], document)
    return resolveReferences(document, target, [...open, $ref])
  }
  const own = Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, resolveReferences(document, value, open)]),
  ) as Node
  if (allOf === undefined) return own
  const parts = [...allOf.map((each) => resolveReferences(document, each, open) as Node), own]
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required),
  }
}
