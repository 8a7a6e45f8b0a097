import { isDeepStrictEqual } from 'node:util'
import type { Documented } from '../schemas.ts'

/** Part of an OpenAPI document. */
type Part = Readonly<Record<string, unknown>>

/** Response of every operation to a request that it rejects. */
const errorResponse = {
  description: 'An error.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/**
 * Moves named schemas and the error response to the components of an OpenAPI document, and refers to them
 * wherever they are used (OpenAPI 3.1 §4.8.7). It also adds the keywords that only the document has.
 *
 * @throws Error when two different schemas have one name
 */
export function collectComponents<Document extends { components?: object; paths?: object }>(
  document: Document,
): Document {
  const schemas = new Map<string, unknown>()

  function visit(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== 'object' || value === null) return value
    const { documented, ...rest } = value as Part & { documented?: Documented }
    const part = mergeNull(completeKeywords({ ...rest, ...documented?.keywords }))
    const visited = Object.fromEntries(Object.entries(part).map(([name, each]) => [name, visit(each)]))
    const name = documented?.component
    if (name === undefined) {
      return isDeepStrictEqual(visited, errorResponse) ? { $ref: '#/components/responses/Error' } : visited
    }
    const known = schemas.get(name)
    if (known !== undefined && !isDeepStrictEqual(known, visited)) {
      throw new Error(`two schemas are named ${name}`)
    }
    schemas.set(name, visited)
    const { note } = documented ?? {}
    return { $ref: `#/components/schemas/${name}`, ...(note === undefined ? {} : { description: note }) }
  }

  const visited = visit(document) as Document
  const byName = [...schemas].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return {
    ...visited,
    components: {
      ...visited.components,
      schemas: Object.fromEntries(byName),
      responses: { Error: errorResponse },
    },
  }
}

const scalars: readonly unknown[] = ['string', 'number', 'integer', 'boolean']

/** Writes a scalar or null as one schema with two types, as the document's tables do. */
function mergeNull(part: Part): Part {
  const { anyOf, ...rest } = part
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null') return part
  const { type, enum: values, documented, ...rules } = anyOf[0] as Part & { documented?: Documented }
  const isPlain = scalars.includes(type) && values === undefined && documented?.component === undefined
  return isPlain ? { ...rules, ...documented?.keywords, ...rest, type: [type, 'null'] } : part
}

/**
 * Adds the keywords that tools do not derive from others: the type of a choice of texts, and the members of a
 * rule's `required`.
 */
function completeKeywords(part: Part): Part {
  const { enum: values, type, required, properties } = part
  if (type !== undefined) return part
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) {
    return { type: 'string', ...part }
  }
  if (!Array.isArray(required) || properties !== undefined) return part
  return { ...part, properties: Object.fromEntries(required.map((name) => [name, {}])) }
}
