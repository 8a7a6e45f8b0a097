import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import { checkedByHandler, component, requiredByHandler } from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'
import {
  type DistanceMetric,
  findVectorColumn,
  parseMetric,
  type VectorColumn,
} from '../collections/index.ts'
import { vectorIndexErrors } from './errors.ts'

export const methods = ['hnsw', 'ivfflat'] as const
export const metrics = ['cosine', 'l2', 'inner_product'] as const

/** Parameters of each method, with their limits. */
const parameters = {
  hnsw: { m: [2, 100], ef_construction: [4, 1000] },
  ivfflat: { lists: [1, 32_768] },
} as const

const required = ['table', 'column', 'method', 'metric'] as const

const parameter = ([minimum, maximum]: readonly [number, number], description: string) =>
  Type.Optional(checkedByHandler({ type: 'integer', minimum, maximum }, Type.Number({ description })))

/** Vector index to build. The handler validates it, for messages that name the parameters of the method. */
export const CreateVectorIndex = component(
  'CreateVectorIndex',
  Type.Object({
    table: requiredByHandler(Type.String()),
    column: requiredByHandler(Type.String()),
    method: requiredByHandler(checkedByHandler({ enum: methods }, Type.String())),
    metric: requiredByHandler(checkedByHandler({ enum: metrics }, Type.String())),
    schema: Type.Optional(Type.String({ description: 'Default: `public`.' })),
    index_name: Type.Optional(Type.String({ description: 'Default: `idx_<table>_<column>_<method>`.' })),
    lists: parameter(parameters.ivfflat.lists, 'ivfflat: number of lists.'),
    m: parameter(parameters.hnsw.m, 'hnsw: links of each row.'),
    ef_construction: parameter(parameters.hnsw.ef_construction, 'hnsw: candidates while building.'),
  }),
)
type CreateVectorIndex = Static<typeof CreateVectorIndex>

/** Index that can be built. */
export interface VectorIndexDefinition {
  readonly name: string
  readonly relation: Relation
  readonly column: VectorColumn
  readonly method: (typeof methods)[number]
  readonly metric: DistanceMetric
  /** Storage parameters of pgvector. */
  readonly options: readonly (readonly [name: string, value: number])[]
}

const allParameters = ['lists', 'm', 'ef_construction'] as const

/** Maximum name length. PostgreSQL would cut a longer name, and the index could not be found again. */
const maxNameBytes = 63

/** @throws AppError that names the field */
export function planVectorIndex(catalog: Catalog, input: CreateVectorIndex): VectorIndexDefinition {
  const missing = required.filter((name) => (input[name] ?? '') === '')
  if (missing.length > 0) throw vectorIndexErrors.missingVectorIndexFields(missing.join(', '))
  const { table = '', column = '', method = '', metric, schema = '' } = input
  const relation = findRelation(catalog, schema, table)
  if (method !== 'hnsw' && method !== 'ivfflat') throw vectorIndexErrors.unsupportedIndexMethod(method)
  const found = findVectorColumn(relation, column, 'unrestricted')
  const definition = {
    name: input.index_name || defaultName(relation.name, column, method),
    relation,
    column: found,
    method,
    metric: parseMetric(metric),
    options: readOptions(method, input),
  } as const
  if (method === 'ivfflat' && found.type.base === 'sparsevec') {
    throw vectorIndexErrors.invalidIndexOption('method: ivfflat does not support sparsevec; expected hnsw')
  }
  if (Buffer.byteLength(definition.name) > maxNameBytes || definition.name.includes('\0')) {
    throw vectorIndexErrors.invalidIndexOption(`index_name: expected a name of at most ${maxNameBytes} bytes`)
  }
  return definition
}

function findRelation(catalog: Catalog, schema: string, table: string): Relation {
  const collection = schema === '' || schema === 'public' ? table : `${schema}.${table}`
  const relation = catalog.relations.get(collection)
  const isIndexable = relation !== undefined && !['view', 'foreign_table'].includes(relation.kind)
  if (!isIndexable) throw vectorIndexErrors.vectorIndexTableNotFound(table)
  return relation
}

function readOptions(method: 'hnsw' | 'ivfflat', input: CreateVectorIndex) {
  const known: Readonly<Partial<Record<string, readonly [number, number]>>> = parameters[method]
  return allParameters.flatMap((name) => {
    const value = input[name]
    if (value === undefined) return []
    const limits = known[name]
    if (limits === undefined)
      throw vectorIndexErrors.invalidIndexOption(`${name}: not a parameter of ${method}`)
    const [least, most] = limits
    if (!Number.isInteger(value) || value < least || value > most) {
      throw vectorIndexErrors.invalidIndexOption(`${name}: expected an integer from ${least} to ${most}`)
    }
    return [[name, value] as const]
  })
}

/** Returns the default name, cut at a character boundary. */
function defaultName(table: string, column: string, method: string): string {
  const tail = `_${method}`
  let middle = `idx_${table}_${column}`
  while (Buffer.byteLength(middle + tail) > maxNameBytes) middle = Array.from(middle).slice(0, -1).join('')
  return middle + tail
}

const classes: Readonly<Record<DistanceMetric, string>> = {
  cosine: 'cosine_ops',
  l2: 'l2_ops',
  inner_product: 'ip_ops',
}

/** Returns the metric of an operator class such as `halfvec_ip_ops`. */
export function metricOf(operatorClass: string): DistanceMetric | undefined {
  const [, found] = /^[a-z]+_((?:cosine|l2|ip)_ops)$/.exec(operatorClass) ?? []
  return (Object.keys(classes) as DistanceMetric[]).find((metric) => classes[metric] === found)
}

/** Compiles a build that blocks neither readers nor writers of the table. */
export function compileCreateIndex(definition: VectorIndexDefinition): Sql {
  const { name, relation, column, method, metric, options } = definition
  const operators = sql.id(column.vectorSchema, `${column.type.base}_${classes[metric]}`)
  const settings = options.map(([option, value]) => sql`${sql.id(option)} = ${sql.integer(value)}`)
  return sql`
    create index concurrently ${sql.id(name)} on ${sql.id(relation.schema, relation.name)}
    using ${sql.id(method)} (${sql.id(column.name)} ${operators})
    ${settings.length === 0 ? sql.empty : sql`with (${sql.join(settings)})`}`
}
