import type { JsonSchema } from './column-schema.ts'
import { type Entry, type Operation, optional, reference, type StaticDocument } from './document-parts.ts'

/** Route of a function of the project. */
export interface DocumentedRoute {
  readonly name: string
  readonly method: string
  /** Path below `/api/functions`, with parameters such as `:id`. */
  readonly path: string
  readonly access: 'anonymous' | 'user' | 'admin'
  /** Schema of the input; undefined if the function gets none. Its references lead to its `$defs`. */
  readonly input: JsonSchema | undefined
  /** Schema of the result; undefined if it is unknown. */
  readonly output: JsonSchema | undefined
}

/** Paths and components of functions. */
export interface DescribedRoutes {
  /** Methods by path. Those of a path of the static document replace its operations. */
  readonly paths: ReadonlyMap<string, Readonly<Record<string, Operation>>>
  readonly schemas: readonly Entry[]
  /** Number of routes that are not described. */
  readonly omitted: number
}

/** Tag of the routes, which no static operation has. */
export const routesTag = {
  name: 'routes of functions',
  description: 'Endpoints that the functions of this project define.',
}

/** Maximum number of described routes. */
const routeLimit = 1000

/** Path of all functions in the static document. */
const staticPath = '/api/functions/{name}'

/** Describes the routes of functions. @param usedNames names of components that exist */
export function describeRoutes(
  document: StaticDocument,
  routes: readonly DocumentedRoute[],
  usedNames: Iterable<string>,
): DescribedRoutes {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  // Paths of records also have a list of parameters.
  const operationNames = new Names(
    operations.flatMap(({ operationId }: Partial<Operation>) => operationId ?? []),
  )
  const components = new Components(usedNames)
  const addresses = new Map(Object.keys(document.paths).map((path) => [formOf(path), path]))
  const paths = new Map<string, Readonly<Record<string, Operation>>>()
  const described = routes.slice(0, routeLimit)
  for (const route of described) {
    const template = templateOf(route.path)
    // Two paths that differ only in the names of their parameters are one path of the document.
    const path = addresses.get(formOf(template)) ?? template
    addresses.set(formOf(template), path)
    const id = operationNames.add(`functions.${camelCase(route.name) || 'function'}`, 'Function')
    const operation = describeRoute(document, route, { id, path, components })
    paths.set(path, { ...paths.get(path), [route.method.toLowerCase()]: operation })
  }
  return { paths, schemas: components.entries, omitted: routes.length - described.length }
}

interface RouteTerms {
  readonly id: string
  /** Path of the document. */
  readonly path: string
  readonly components: Components
}

function describeRoute(
  document: StaticDocument,
  { name, method, access, input, output }: DocumentedRoute,
  { id, path, components }: RouteTerms,
): Operation {
  const base = document.paths[staticPath]?.[method.toLowerCase()]
  if (base === undefined) throw new Error('the document lacks an operation of functions')
  const isQuery = method === 'GET' || method === 'DELETE'
  const prefix = pascalCase(id)
  const parameters = [...path.matchAll(/\{([^}]+)\}/g)].map(([, parameter = '']) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const query = input !== undefined && isQuery ? queryOf(components.inline(prefix, input)) : []
  const result = output === undefined ? {} : components.body(`${prefix}Result`, output)
  const { 200: _, 204: noResult, ...errors } = base.responses
  return {
    operationId: id,
    summary: `Call the function ${name}`,
    ...optional('description', access === 'admin' ? 'Only administrators may call it.' : undefined),
    tags: [routesTag.name],
    ...(parameters.length + query.length === 0 ? {} : { parameters: [...parameters, ...query] }),
    ...(input === undefined || isQuery
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: components.body(`${prefix}Input`, input) } },
          },
        }),
    security: access === 'anonymous' ? [{}, { bearer: [] }] : [{ bearer: [] }],
    responses: {
      200: { description: 'Result of the function.', content: { 'application/json': { schema: result } } },
      ...(output === undefined ? { 204: noResult } : {}),
      ...errors,
    },
  }
}

/** Returns the parameters of an input that is sent as a query. */
function queryOf({ schema, resolve }: InlineSchema): object[] {
  const { properties, required } = resolve(schema)
  if (properties === undefined)
    return [
      { name: 'input', in: 'query', style: 'form', explode: true, schema: { ...schema, type: 'object' } },
    ]
  const isRequired = new Set(required as readonly string[] | undefined)
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, member]) => {
    const { description, ...rest } = member
    return {
      name,
      in: 'query',
      ...optional('description', description as string | undefined),
      ...(isRequired.has(name) ? { required: true } : {}),
      schema: rest,
    }
  })
}

interface InlineSchema {
  readonly schema: JsonSchema
  /** Returns the schema to which a schema refers, or the schema itself. */
  readonly resolve: (schema: JsonSchema) => JsonSchema
}

/** Components of the schemas of functions. */
class Components {
  readonly entries: Entry[] = []
  readonly #names: Names

  constructor(usedNames: Iterable<string>) {
    this.#names = new Names(usedNames)
  }

  /** Returns the schema of a body: a reference to a component, unless it is a simple one. */
  body(name: string, given: JsonSchema): JsonSchema {
    const { schema } = this.inline(name, given)
    if (schema.type !== 'object' && schema.anyOf === undefined && schema.oneOf === undefined) return schema
    const component = this.#names.add(name)
    this.entries.push([component, schema])
    return reference(component) as JsonSchema
  }

  /** Returns a schema whose definitions are components. */
  inline(name: string, { $defs = {}, ...schema }: JsonSchema): InlineSchema {
    const definitions = Object.entries($defs as Readonly<Record<string, JsonSchema>>)
    const names = new Map(
      definitions.map(([each]) => [`#/$defs/${each}`, this.#names.add(`${name}${each}`)] as const),
    )
    const rename = (value: JsonSchema): JsonSchema => renameReferences(value, names) as JsonSchema
    const renamed = new Map(
      definitions.map(([each, value]) => [names.get(`#/$defs/${each}`) ?? each, rename(value)] as const),
    )
    this.entries.push(...renamed)
    const resolve = (value: JsonSchema) => {
      const target = typeof value.$ref === 'string' ? value.$ref.replace('#/components/schemas/', '') : ''
      return renamed.get(target) ?? value
    }
    return { schema: rename(schema), resolve }
  }
}

/** Keywords of data. A member `$ref` in them is no reference. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])
/** Keywords whose values have schemas by names of any kind. */
const memberKeywords: ReadonlySet<string> = new Set(['properties', 'patternProperties'])

/** Returns a schema whose references lead to components. */
function renameReferences(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => renameReferences(each, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([keyword, each]) => {
      if (dataKeywords.has(keyword)) return [keyword, each]
      if (memberKeywords.has(keyword)) {
        const members = Object.entries(each as object).map(([name, member]) => [
          name,
          renameReferences(member, names),
        ])
        return [keyword, Object.fromEntries(members)]
      }
      const target = keyword === '$ref' ? names.get(each as string) : undefined
      return [
        keyword,
        target === undefined ? renameReferences(each, names) : `#/components/schemas/${target}`,
      ]
    }),
  )
}

/** Names that differ in more than the case of letters, because generated files may have to. */
class Names {
  readonly #used: Set<string>

  constructor(used: Iterable<string>) {
    this.#used = new Set(Array.from(used, (name) => name.toLowerCase()))
  }

  /** Adds a name, with a suffix or a number if it is used. */
  add(name: string, suffix = ''): string {
    const isUsed = (each: string) => this.#used.has(each.toLowerCase())
    const base = isUsed(name) ? `${name}${suffix}` : name
    let free = base
    for (let number = 2; isUsed(free); number += 1) free = `${base}${number}`
    this.#used.add(free.toLowerCase())
    return free
  }
}

/** Returns a path as a template of OpenAPI, in which each parameter has another name. */
function templateOf(path: string): string {
  const names = new Names([])
  const segments = path.split('/').filter((segment) => segment !== '')
  const parts = segments.map((segment) =>
    segment.startsWith(':')
      ? `{${names.add(segment.slice(1).replaceAll(/[{}?#]/g, '_') || 'parameter')}}`
      : encodeURIComponent(segment.toWellFormed()),
  )
  return ['/api/functions', ...parts].join('/')
}

/** Returns a template without the names of its parameters. */
function formOf(template: string): string {
  return template.replaceAll(/\{[^}]*\}/g, '{}')
}

function camelCase(name: string): string {
  const text = pascalCase(name)
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`
}

function pascalCase(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join('')
}
