import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type DocumentRead,
  distanceName,
  type FilterPlan,
  formatVector,
  hybridNames,
  isHighlightable,
  type ListPlan,
  parseFacets,
  parseOrder,
  parseSearch,
  parseSpatial,
  parseVector,
  parseVectorValue,
  planFacets,
  planHybrid,
  planList,
  planNearest,
  planRows,
  planTest,
  planWholeRecord,
  type RowsPlan,
  requireEmbedder,
  rowValues,
  type Spender,
  type VectorQuery,
  vectorFinder,
} from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import { planFacetMembers } from './facets.ts'
import type { SelectedField } from './fields.ts'
import { planReadCall } from './functions.ts'
import { readOrder } from './order.ts'
import {
  type ComputedMembers,
  listLimit,
  planRowsOf,
  planSelectedAggregate,
  planSelectedRecord,
  readPage,
} from './selection.ts'
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
    case 'facets':
      return planFacetsOf(tools, meaning.relation, field)
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
    distance: readDistance(tools, relation, field, distinct.length > 0),
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
    const { selection } = planSelectedRecord(
      tools,
      relation,
      field,
      limit,
      selected(Object.values(hybridNames)),
    )
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
    const { selection } = planSelectedRecord(tools, relation, field, limit, selected([distanceName]))
    return {
      kind: 'nearest',
      nearest: { ...nearest, rows: withRows(nearest.rows), record: { ...nearest.record, selection } },
      findVector: planVector(tools, nearest.vector, vector, field),
    }
  }
  const { search } = query
  // Values beside the columns are members of the selection. The planned ones would follow it.
  const { distance, highlight, ...plan } = planList(
    tools,
    relation,
    { ...query, search: search && { ...search, hasHighlight: isHighlightable(relation) } },
    tools.limits,
  )
  const values = rowValues({ distance, highlight })
  const list: ListPlan = {
    ...plan,
    rows: withRows(plan.rows),
    record: {
      ...plan.record,
      selection: planSelectedRecord(tools, relation, field, limit, values).selection,
    },
    distance: undefined,
    highlight: undefined,
    distinct,
  }
  return { kind: 'list', list, offset }
}

function selected(names: readonly string[]): ComputedMembers {
  return new Map(names.map((name) => [name, 'selected']))
}

/** Reads the point of `order_by_distance` by the rules of the REST list. @throws AppError invalid_parameter, invalid_graphql_argument */
function readDistance(tools: PlanTools, relation: Relation, { args }: SelectedField, isDistinct: boolean) {
  const point = args.order_by_distance as DistanceArgument | null | undefined
  if (point == null) return undefined
  if (isDistinct) {
    throw graphqlErrors.invalidGraphqlArgument('order_by_distance', 'cannot be combined with distinct_on')
  }
  const column = quoteName(columnName(tools, relation, point.column))
  return parseOrder(`${column}.distance(${point.longitude},${point.latitude})`).distance
}

interface DistanceArgument {
  readonly column: string
  readonly longitude: number
  readonly latitude: number
}

/** Arguments that a list sorted by a vector does not have. */
const sortArguments = ['order_by', 'order_by_distance', 'distinct_on']

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
  const quote = (name: string) => quoteName(columnName(tools, relation, name))
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

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function toText(geometry: unknown): string {
  return typeof geometry === 'string' ? geometry : JSON.stringify(geometry)
}

/** Plans the facets of the rows that the list with the same arguments finds. */
function planFacetsOf(tools: PlanTools, relation: Relation, field: SelectedField): DocumentRead {
  const namesOf = (argument: unknown) =>
    columnsOf(tools, relation, argument)
      .map(({ name }) => quoteName(name))
      .join()
  const { columns, disjunctive } = field.args
  const query = parseFacets({ facets: namesOf(columns), disjunctiveFacets: namesOf(disjunctive) })
  const found = planRows(tools, relation, { filter: undefined, ...readConditions(tools, relation, field) })
  const rows: RowsPlan = {
    relation,
    conditions: [...found.conditions, ...planRowsOf(tools, relation, field).conditions],
  }
  const { maxFacetBuckets } = tools.limits
  const plan = query && planFacets(rows, query, tools.reader, maxFacetBuckets)
  if (plan === undefined) {
    throw graphqlErrors.invalidGraphqlArgument('columns', 'expected at least one column')
  }
  tools.cost.add(plan.facets.length * maxFacetBuckets)
  return { kind: 'facets', facets: { plan, rows, ...planFacetMembers(tools, relation, field, plan) } }
}

/** Returns the columns of an argument that lists names of the schema. */
function columnsOf({ names }: PlanTools, relation: Relation, value: unknown): readonly Column[] {
  const columns = names.get(relation)?.columns
  return [...new Set((value ?? []) as readonly string[])].flatMap((name) => columns?.get(name) ?? [])
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
