/** Maximum length of the JSON of a schema. The server has limits of its own. */
const lengthLimit = 64 * 1024

/** Schema of another library, with the converters of one that can describe itself. */
export interface DescribableSchema {
  readonly '~standard': {
    readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: object) => unknown>>
  }
}

/** Options of libraries that describe the rest of a schema if a part, such as a date, has no JSON Schema. */
const openParts = { unrepresentable: 'any', errorMode: 'ignore' }

/**
 * Returns the JSON Schema of a schema that can describe itself (https://standardschema.dev/json-schema), for documents;
 * undefined for others.
 *
 * @param side what clients send, or what they receive
 */
export function describeSchema(schema: DescribableSchema, side: 'input' | 'output'): object | undefined {
  const convert = schema['~standard'].jsonSchema?.[side]
  if (typeof convert !== 'function') return undefined
  const target = 'draft-2020-12'
  for (const options of [{ target }, { target, libraryOptions: openParts }]) {
    try {
      const text = JSON.stringify(convert(options))
      const value: unknown = text.length > lengthLimit ? undefined : JSON.parse(text)
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
    } catch {
      // A library rejects what JSON Schema cannot express. The schema itself still validates.
    }
  }
  return undefined
}
