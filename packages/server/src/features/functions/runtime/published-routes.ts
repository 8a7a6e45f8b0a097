import type { RouteDescription } from './messages.ts'
import { type PublishedSchema, publishSchema } from './published-schema.ts'
import { compare, type RouteTable } from './route-table.ts'

/** Route of a function as documents and generated types describe it. */
export interface PublishedRoute extends Pick<RouteDescription, 'name' | 'method' | 'path' | 'access'> {
  /** Schema of the input as clients send it; undefined if the function gets none. */
  readonly input: PublishedSchema | undefined
  /** Schema of the result as clients receive it; undefined if the function declares none. */
  readonly output: PublishedSchema | undefined
}

/** Maximum length of all schemas. The others are described as open. */
const totalLimit = 4 * 1024 * 1024

const noSchema = { description: 'Its schema has no JSON Schema.' }
const largeSchema = { description: 'Its schema is too large to be described here.' }

const published = new WeakMap<RouteTable, readonly PublishedRoute[]>()

/** Returns the routes in the order of their paths, with their schemas. They are prepared once for a table. */
export function publishRoutes(table: RouteTable): readonly PublishedRoute[] {
  const known = published.get(table)
  if (known !== undefined) return known
  let total = 0
  const publish = (schema: object | undefined): PublishedSchema => {
    if (schema === undefined) return noSchema
    const found = publishSchema(schema)
    if (found === undefined) return largeSchema
    total += JSON.stringify(found).length
    return total > totalLimit ? largeSchema : found
  }
  const routes = table.routes
    .map(({ name, method, path, access, ...schemas }) => {
      const { hasInput, input, documentedInput, hasOutput, output, documentedOutput } = schemas
      return {
        ...{ name, method, path, access },
        input: hasInput ? publish(input ?? documentedInput) : undefined,
        output: hasOutput ? publish(output ?? documentedOutput) : undefined,
      }
    })
    .toSorted((one, other) => compare(`${one.path} ${one.method}`, `${other.path} ${other.method}`))
  published.set(table, routes)
  return routes
}
