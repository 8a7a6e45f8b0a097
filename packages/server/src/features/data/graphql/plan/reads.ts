import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type DocumentRead,
  distanceName,
  type FilterPlan,
  formatVector,
  hybridNames,
  type ListPlan,
  parseSearch,
  parseSpatial,
  parseVector,
  parseVectorValue,
  planHybrid,
  planList,
  planNearest,
  planTest,
  planWholeRecord,
  type RowsPlan,
  requireEmbedder,
  type Spender,
  type VectorQuery,
  vectorFinder,
} from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import type { SelectedField } from './fields.ts'
import { planReadCall } from './functions.ts'
import { readOrder } from './order.ts'
import { listLimit, planRowsOf, planSelectedAggregate, planSelectedRecord, readPage } from './selection.ts'
import type { PlanTools } from './tools.ts'

/** Plans a root field of a query. */
export function planRead(tools: PlanTools, field: SelectedField): DocumentRead | undefined {
  const { meaning } = field
  switch (meaning?.kind) {
    case 'list':
      return planRootList(tools, meaning.relation, field)
    case 'byKey':
      return planByKey(tools, meaning.relation, field)
    case 'aggregate':
      return { kind: 'aggregate', aggregate: planSelectedAggregate(tools, meaning.relation, field) }
    case 'call':
      return planReadCall(tools, meaning, field)
    default:
      return undefined
  }
}

function planRootList(tools: PlanTools, relation: Relation, field: SelectedField): DocumentRead {
  const { limit, offset } = readPage(field, listLimit)
  tools.cost.add(limit)
  const { sort, distinct } = readOrder(tools, relation, field)
  const vector = readVector(tools, relation, field)
  const query = {
    fields: undefined,
    expand: [],
    filter: undefined,
    ...readConditions(tools, relation, field),
    vector,
    distance: undefined,
    sort,
    perPage: limit,
    paging: { kind: 'offset', page: 1, total: 'none' },
    facets: undefined,
  } as const
  const { conditions } = planRowsOf(tools, relation, field)
  const withRows = (rows: RowsPlan): RowsPlan => ({
    relation,
    conditions: [...rows.conditions, ...conditions],
  })
  if (vector?.kind === 'hybrid') {
    requireEmbedder(tools, 'hybrid')
    const hybrid = planHybrid(tools, relation, { ...query, vector }, offset)
    const { selection } = planSelectedRecord(tools, relation, field, limit, Object.values(hybridNames))
    return {
      kind: 'hybrid',
      hybrid: {
        ...hybrid,
        found: withRows(hybrid.found),
        near: withRows(hybrid.near),
        record: { ...hybrid.record, selection },
      },
      findVector: planVector(tools, hybrid.vector, vector, field),
    }
  }
  if (vector !== undefined) {
    if (vector.kind === 'semantic') requireEmbedder(tools, 'semantic')
    const nearest = planNearest(tools, relation, { ...query, vector })
    const { selection } = planSelectedRecord(tools, relation, field, limit, [distanceName])
    return {
      kind: 'nearest',
      nearest: { ...nearest, rows: withRows(nearest.rows), record: { ...nearest.record, selection } },
      findVector: planVector(tools, nearest.vector, vector, field),
    }
  }
  const plan = planList(tools, relation, query, tools.limits)
  const list: ListPlan = {
    ...plan,
    rows: withRows(plan.rows),
    record: { ...plan.record, selection: planSelectedRecord(tools, relation, field, limit).selection },
    distinct,
  }
  return { kind: 'list', list, offset }
}

/** Arguments that a list sorted by distance does not have. */
const sortArguments = ['order_by', 'distinct_on']

interface VectorArguments {
  readonly nearest?: readonly number[] | null
  readonly semantic_query?: string | null
  readonly semantic?: boolean | null
  readonly vector_column?: string | null
  readonly distance?: string | null
}

/** Reads the vector to sort by, by the rules of the REST list. @throws AppError invalid_parameter, invalid_graphql_argument */
function readVector(tools: PlanTools, relation: Relation, { args }: SelectedField): VectorQuery | undefined {
  const { nearest, semantic_query, semantic, vector_column, distance, ...others } = args as VectorArguments
  const vector = parseVector(
    present({
      nearest: nearest == null ? null : '',
      semantic_query,
      semantic: semantic == null ? null : String(semantic),
      vector_column: vector_column == null ? null : columnName(tools, relation, vector_column),
      distance,
      ...searchParameters(args),
    }),
  )
  const isPaged = vector?.kind === 'hybrid'
  const excluded = isPaged ? sortArguments : [...sortArguments, 'offset']
  const stray = excluded.find((name) => (others as Readonly<Record<string, unknown>>)[name] != null)
  if (vector === undefined || stray === undefined) return vector
  throw graphqlErrors.invalidGraphqlArgument(
    stray,
    'cannot be combined with nearest, semantic_query or semantic',
  )
}

/** @throws AppError invalid_parameter, dimension_mismatch, semantic_misconfigured */
function planVector(
  tools: PlanTools,
  plan: Parameters<typeof vectorFinder>[0],
  vector: VectorQuery,
  { args }: SelectedField,
): (caller: Spender) => string | Promise<string> {
  if (vector.kind === 'nearest') {
    const text = formatVector(plan, parseVectorValue(JSON.stringify((args as VectorArguments).nearest)))
    return () => text
  }
  const find = vectorFinder(plan, vector, tools.embedder)
  return (caller) => find(caller, '')
}

/** Returns the parameters of a REST list that have a value. */
function present(parameters: Readonly<Record<string, string | null | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  )
}

function searchParameters(args: SelectedField['args']): Record<string, string> {
  const { search, fuzzy, typo_threshold: threshold } = args
  return present({
    search: search as string | null | undefined,
    fuzzy: fuzzy == null ? null : String(fuzzy),
    typo_threshold: threshold == null ? null : String(threshold),
  })
}

/** Reads the arguments that the REST list has as parameters, by the same rules. */
function readConditions(tools: PlanTools, relation: Relation, { args }: SelectedField) {
  const { near, within, intersects, bbox } = args as SpatialArguments
  const quote = (name: string) => `"${columnName(tools, relation, name).replaceAll('"', '""')}"`
  const geometry = (of: SpatialArguments['within']) =>
    of == null ? null : `${quote(of.column)},${toText(of.geojson)}`
  return {
    search: parseSearch(searchParameters(args)),
    spatial: parseSpatial(
      present({
        near: near == null ? null : [quote(near.column), near.longitude, near.latitude, near.distance].join(),
        within: geometry(within),
        intersects: geometry(intersects),
        bbox:
          bbox == null
            ? null
            : [quote(bbox.column), bbox.minLng, bbox.minLat, bbox.maxLng, bbox.maxLat].join(),
      }),
    ),
  }
}

interface SpatialArguments {
  readonly near?: {
    readonly column: string
    readonly longitude: number
    readonly latitude: number
    readonly distance: number
  } | null
  readonly within?: { readonly column: string; readonly geojson: unknown } | null
  readonly intersects?: { readonly column: string; readonly geojson: unknown } | null
  readonly bbox?: {
    readonly column: string
    readonly minLng: number
    readonly minLat: number
    readonly maxLng: number
    readonly maxLat: number
  } | null
}

/** Returns the name of the column that has this name in the schema, or in the database. */
function columnName({ names }: PlanTools, relation: Relation, name: string): string {
  return names.get(relation)?.columns.get(name)?.name ?? name
}

function toText(geometry: unknown): string {
  return typeof geometry === 'string' ? geometry : JSON.stringify(geometry)
}

function planByKey(tools: PlanTools, relation: Relation, field: SelectedField): DocumentRead {
  tools.cost.add(1)
  const columns = tools.names.get(relation)?.columns ?? new Map<string, Column>()
  const terms = Object.entries(field.args).flatMap(([name, value]): FilterPlan[] => {
    const column = columns.get(name)
    if (column === undefined) return []
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    const subject = { column: column.name, path: undefined, isPath: false, json: undefined, position: 0 }
    const literal = { kind: 'string', text } as const
    return [planTest(column, { ...subject, kind: 'compare', operator: '=', value: literal }, tools.language)]
  })
  const rows: RowsPlan = {
    relation,
    conditions: [{ kind: 'filter', filter: { kind: 'and', terms } }],
  }
  const { selection } = planSelectedRecord(tools, relation, field, 1)
  return { kind: 'record', record: { ...planWholeRecord(relation, tools.reader), selection }, rows }
}
