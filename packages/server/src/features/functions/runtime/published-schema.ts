import { isObject } from '../../../lib/json.ts'

/** JSON Schema 2020-12 for readers. Its references have the form `#/$defs/Name`, and their targets exist. */
export type PublishedSchema = Readonly<Record<string, unknown>>

/** Maximum number of nested schemas and values, maximum number of all of them, and maximum length of their JSON. */
const depthLimit = 32
const nodeLimit = 2000
const lengthLimit = 64 * 1024

/** Error of a schema that is too large to be published. */
class SchemaTooLarge extends Error {}

/**
 * Returns a schema of the child in a form that documents may contain; undefined if it is too large. It has known
 * keywords only, so it becomes more open where others would narrow it. References lead to no other document.
 */
export function publishSchema(given: object): PublishedSchema | undefined {
  try {
    const schema = new SchemaReader(given).read()
    return JSON.stringify(schema).length > lengthLimit ? undefined : schema
  } catch (error) {
    if (error instanceof SchemaTooLarge) return undefined
    throw error
  }
}

/** Definitions in whose scope a schema is, from the inside to the outside. */
type Scopes = readonly Readonly<Record<string, unknown>>[]

type Reader = (value: unknown, depth: number, scopes: Scopes) => unknown

/** Reads one schema with its definitions. */
class SchemaReader {
  readonly #root: object
  /** Names of the definitions by the objects that references lead to. */
  readonly #names = new Map<object, string>()
  readonly #definitions = new Map<string, unknown>()
  #nodes = 0

  constructor(root: object) {
    this.#root = root
  }

  read(): PublishedSchema {
    const schema = this.#schema(this.#root, 0, [])
    const definitions = [...this.#definitions]
    return definitions.length === 0 ? schema : { ...schema, $defs: Object.fromEntries(definitions) }
  }

  /** Returns a schema. A value that is none accepts everything. */
  readonly #schema = (given: unknown, depth: number, outer: Scopes): PublishedSchema => {
    this.#count(depth)
    if (!isObject(given)) return given === false ? { not: {} } : {}
    const own = [given.$defs, given.definitions].filter(isObject)
    const scopes = [...own, ...outer]
    if (typeof given.$ref === 'string') {
      return {
        ...this.#reference(given.$ref, depth, scopes),
        ...pickText(given, 'description'),
      }
    }
    const members = Object.entries(readers).flatMap(([keyword, kind]) => {
      if (!Object.hasOwn(given, keyword)) return []
      const value = this.#read[kind](given[keyword], depth + 1, scopes)
      return value === undefined ? [] : [[keyword, value] as const]
    })
    return withoutDialects(Object.fromEntries(members))
  }

  /** Returns a reference to a definition of the schema. One that leads elsewhere accepts everything. */
  #reference(reference: string, depth: number, scopes: Scopes): PublishedSchema {
    const target = reference === '#' ? this.#root : this.#find(reference, scopes)
    if (!isObject(target)) return {}
    let name = this.#names.get(target)
    if (name === undefined) {
      name = this.#nameOf(reference)
      this.#names.set(target, name)
      this.#definitions.set(name, {})
      this.#definitions.set(name, this.#schema(target, depth + 1, scopes))
    }
    return { $ref: `#/$defs/${name}` }
  }

  /** Finds a definition: by a pointer into the whole schema, or by its name in the nearest scope, as TypeBox writes it. */
  #find(reference: string, scopes: Scopes): unknown {
    const [, member = '', pointer = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []
    if (member !== '') {
      const definitions = (this.#root as Readonly<Record<string, unknown>>)[member]
      return isObject(definitions) ? ownMember(definitions, decodePointer(pointer)) : undefined
    }
    return scopes.map((scope) => ownMember(scope, reference)).find(isObject)
  }

  /** Returns a name of ASCII letters and digits that no other definition has, in any case of letters. */
  #nameOf(reference: string): string {
    const words = decodePointer(reference.replace(/^.*\//, '')).split(/[^A-Za-z0-9]+/)
    const base = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1, 40)}`).join('')
    const plain = /^[A-Z]/.test(base) ? base.slice(0, 60) : `Item${base.slice(0, 60)}`
    const used = new Set(Array.from(this.#definitions.keys(), (name) => name.toLowerCase()))
    let name = plain
    for (let number = 2; used.has(name.toLowerCase()); number += 1) name = `${plain}${number}`
    return name
  }

  #count(depth: number): void {
    this.#nodes += 1
    if (depth > depthLimit || this.#nodes > nodeLimit) throw new SchemaTooLarge()
  }

  /** Readers of the values of keywords. Each returns undefined for a value that the keyword cannot have. */
  readonly #read: Readonly<Record<ValueKind, Reader>> = {
    text: (value) => (typeof value === 'string' ? value : undefined),
    pattern: (value) => (typeof value === 'string' && isPattern(value) ? value : undefined),
    number: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
    count: (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined),
    flag: (value) => (typeof value === 'boolean' ? value : undefined),
    types: (value) => {
      if (!Array.isArray(value)) return typeNames.has(value as string) ? value : undefined
      const names = [...new Set(value)].filter((name) => typeNames.has(name))
      return names.length === 0 ? undefined : names
    },
    names: (value) => (Array.isArray(value) ? [...new Set(value.filter(isText))] : undefined),
    value: (value, depth) => this.#value(value, depth),
    values: (value, depth) =>
      Array.isArray(value) && value.length > 0 ? this.#value(value, depth) : undefined,
    schema: (value, depth, scopes) =>
      typeof value === 'boolean' || Array.isArray(value) ? undefined : this.#schema(value, depth, scopes),
    // False means that there are no further members.
    rest: (value, depth, scopes) =>
      typeof value === 'boolean' ? value : isObject(value) ? this.#schema(value, depth, scopes) : undefined,
    // Earlier versions of JSON Schema have a list of schemas here.
    items: (value, depth, scopes) =>
      Array.isArray(value)
        ? value.map((each) => this.#schema(each, depth + 1, scopes))
        : this.#read.rest(value, depth, scopes),
    schemas: (value, depth, scopes) =>
      Array.isArray(value) && value.length > 0
        ? value.map((each) => this.#schema(each, depth, scopes))
        : undefined,
    // Many tools would follow a member called `$ref`.
    members: (value, depth, scopes) =>
      isObject(value)
        ? Object.fromEntries(
            Object.entries(value).flatMap(([name, each]) =>
              name === '$ref' ? [] : [[name, this.#schema(each, depth, scopes)]],
            ),
          )
        : undefined,
  }

  /** Returns a JSON value, such as a default. */
  #value(value: unknown, depth: number): unknown {
    this.#count(depth)
    if (Array.isArray(value)) return value.map((each) => this.#value(each, depth + 1))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.#value(each, depth + 1)]),
    )
  }
}

type ValueKind =
  | ('text' | 'pattern' | 'number' | 'count' | 'flag' | 'types' | 'names' | 'value' | 'values')
  | ('schema' | 'rest' | 'items' | 'schemas' | 'members')

/** Keywords that are published. `not` and conditions are omitted: without a part that is unknown here they would be narrower. */
const readers: Readonly<Record<string, ValueKind>> = {
  title: 'text',
  description: 'text',
  type: 'types',
  enum: 'values',
  const: 'value',
  default: 'value',
  examples: 'values',
  deprecated: 'flag',
  readOnly: 'flag',
  writeOnly: 'flag',
  format: 'text',
  pattern: 'pattern',
  contentEncoding: 'text',
  contentMediaType: 'text',
  minLength: 'count',
  maxLength: 'count',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
  properties: 'members',
  required: 'names',
  additionalProperties: 'rest',
  patternProperties: 'members',
  propertyNames: 'schema',
  minProperties: 'count',
  maxProperties: 'count',
  prefixItems: 'schemas',
  items: 'items',
  additionalItems: 'rest',
  minItems: 'count',
  maxItems: 'count',
  uniqueItems: 'flag',
  anyOf: 'schemas',
  oneOf: 'schemas',
  allOf: 'schemas',
}

const typeNames: ReadonlySet<unknown> = new Set([
  ...['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'],
])

/** Patterns that match every name, as TypeBox and others write a record. */
const anyName: ReadonlySet<string> = new Set(['^.*$', '^(.*)$', '.*', ''])

/** Replaces keywords of earlier versions, and those that few generators know, by their equivalents. */
function withoutDialects({
  items,
  additionalItems,
  patternProperties,
  multipleOf,
  oneOf,
  ...schema
}: PublishedSchema) {
  const patterns = Object.entries((patternProperties ?? {}) as Readonly<Record<string, unknown>>)
  const [[pattern = undefined, record = undefined] = []] = patterns
  const isRecord =
    patterns.length === 1 &&
    pattern !== undefined &&
    anyName.has(pattern) &&
    (schema.additionalProperties === undefined || schema.additionalProperties === false)
  return {
    ...schema,
    ...((multipleOf as number) > 0 ? { multipleOf } : {}),
    ...(Array.isArray(items)
      ? {
          ...(items.length === 0 ? {} : { prefixItems: items }),
          ...(additionalItems === undefined ? {} : { items: additionalItems }),
        }
      : items === undefined
        ? {}
        : { items }),
    ...(isRecord
      ? { additionalProperties: record }
      : patternProperties === undefined
        ? {}
        : { patternProperties }),
    // Branches without their unknown keywords may overlap.
    ...(oneOf === undefined
      ? {}
      : schema.anyOf === undefined
        ? { anyOf: oneOf }
        : { allOf: [...((schema.allOf ?? []) as readonly unknown[]), { anyOf: oneOf }] }),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Returns true if generators can read the pattern. */
function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

function ownMember(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Decodes a segment of a JSON pointer in a URL fragment (RFC 6901 §6). */
function decodePointer(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return segment
  }
}

function pickText(schema: Readonly<Record<string, unknown>>, name: string): object {
  const value = ownMember(schema, name)
  return typeof value === 'string' ? { [name]: value } : {}
}
