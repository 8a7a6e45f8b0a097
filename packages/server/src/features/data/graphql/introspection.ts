import { setImmediate } from 'node:timers/promises'
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLNamedType,
  GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
} from 'graphql'
import { isObject } from '../../../lib/json.ts'
import { Pace } from './pace.ts'
import { RequestErrors } from './request-errors.ts'
import { referencesOf } from './schema/lazy-schema.ts'

/**
 * Introspection in slices: that of 2,000 tables takes seconds, which would block all other requests. One runs at a time,
 * since its result can have 60 MB.
 */

/** Types or fields of one slice. */
const sliceItems = 50

export interface IntrospectionRequest {
  readonly schema: GraphQLSchema
  /** Document whose one operation selects `field` alone. */
  readonly document: DocumentNode
  readonly variables: Readonly<Record<string, unknown>>
  /** Name of the field in the response. */
  readonly key: string
  /** True for `__schema`, which reads all types. */
  readonly isWhole: boolean
}

export class Introspection {
  #last: Promise<unknown> = Promise.resolve()

  /**
   * Runs introspection after the requests before it.
   *
   * @returns the JSON text of the field
   * @throws RequestErrors
   */
  async run(request: IntrospectionRequest): Promise<string> {
    const run = this.#last.then(() => introspect(request))
    this.#last = run.catch(() => undefined)
    return await run
  }
}

async function introspect(request: IntrospectionRequest): Promise<string> {
  const { schema, isWhole } = request
  if (!isWhole) return JSON.stringify(await executeOn(schema, request))
  const pace = new Pace()
  const types = await collectTypes(schema, pace)
  const roots = rootsOf(schema).map(inSlices)
  const frame = await executeOn(createView(schema, [], roots), request)
  if (!isObject(frame)) return JSON.stringify(frame)
  // Only the list of types is empty: a schema has directives.
  const lists = new Map(
    Object.entries(frame).flatMap(([name, value]) =>
      Array.isArray(value) && value.length === 0 ? [[name, [] as string[]] as const] : [],
    ),
  )
  for (let start = 0; start < types.length && lists.size > 0; start += sliceItems) {
    const slice = types.slice(start, start + sliceItems).map(inSlices)
    const part = await executeOn(createView(schema, slice, [noFields]), request)
    for (const [name, list] of lists) {
      const described = isObject(part) ? part[name] : undefined
      if (Array.isArray(described)) list.push(...described.map((each) => JSON.stringify(each)))
    }
    await pace.pause()
  }
  const members = Object.entries(frame).map(([name, value]) => {
    const list = lists.get(name)
    return `${JSON.stringify(name)}:${list === undefined ? JSON.stringify(value) : `[${list.join()}]`}`
  })
  return `{${members.join()}}`
}

/** Stands for the root types while a slice of the types is read. */
const noFields = new GraphQLObjectType({ name: 'Query', fields: {} })

/** @throws RequestErrors */
async function executeOn(
  schema: GraphQLSchema,
  { document, variables, key }: IntrospectionRequest,
): Promise<unknown> {
  const { data, errors }: ExecutionResult = await execute({ schema, document, variableValues: variables })
  if (errors !== undefined && errors.length > 0) throw new RequestErrors(errors)
  return data?.[key] ?? null
}

function rootsOf(schema: GraphQLSchema) {
  return [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
}

/** Returns all types in the order of their names. */
async function collectTypes(schema: GraphQLSchema, pace: Pace): Promise<readonly GraphQLNamedType[]> {
  const roots = [...rootsOf(schema), schema.getType('__Schema')]
  const directives = schema.getDirectives().flatMap(({ args }) => args.map(({ type }) => getNamedType(type)))
  const pending = [...roots, ...directives].filter((type) => type != null)
  const found = new Map<string, GraphQLNamedType>()
  for (let type = pending.pop(); type !== undefined; type = pending.pop()) {
    if (found.has(type.name)) continue
    found.set(type.name, type)
    pending.push(...referencesOf(type).filter(({ name }) => !found.has(name)))
    await pace.pause()
  }
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Returns the schema with some of its types, and with these root types. */
function createView(
  schema: GraphQLSchema,
  types: readonly (GraphQLNamedType | null | undefined)[],
  [query, mutation, subscription]: readonly (GraphQLNamedType | null | undefined)[],
): GraphQLSchema {
  return Object.create(schema, {
    getType: { value: (name: string) => schema.getType(name) },
    getTypeMap: { value: () => types },
    getQueryType: { value: () => query },
    getMutationType: { value: () => mutation },
    getSubscriptionType: { value: () => subscription },
  })
}

/** Returns the type; if it has many fields, they are promises that resolve in slices. */
function inSlices(type: GraphQLNamedType | null | undefined): GraphQLNamedType | null | undefined {
  if (!isObjectType(type)) return type
  const fields = Object.values(type.getFields())
  if (fields.length <= sliceItems) return type
  return Object.create(type, { getFields: { value: () => resolveInSlices(fields) } })
}

function resolveInSlices<Item>(items: readonly Item[]): readonly Promise<Item>[] {
  let turn = Promise.resolve()
  return items.map((item, index) => {
    if (index > 0 && index % sliceItems === 0) turn = turn.then(() => setImmediate())
    return turn.then(() => item)
  })
}
