import { isObject } from '../../ui/json.ts'

/** Maximum depth of nested schemas, which may refer to themselves. */
const deepest = 5

/** Returns an example of a value that a JSON Schema describes. */
export function exampleOf(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > deepest) return null
  if ('default' in schema) return schema.default
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? null
  const [variant] = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((each) =>
    Array.isArray(each) ? each : [],
  )
  if (schema.type === undefined && variant !== undefined) return exampleOf(variant, depth + 1)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object': {
      const properties = isObject(schema.properties) ? schema.properties : {}
      return Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, exampleOf(each, depth + 1)]),
      )
    }
    case 'array':
      return []
    case 'string':
      return ''
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 0
    case 'boolean':
      return false
    default:
      return null
  }
}
