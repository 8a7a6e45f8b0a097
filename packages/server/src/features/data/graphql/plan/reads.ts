import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type DocumentRead,
  type FilterPlan,
  type ListPlan,
  parseSearch,
  parseSpatial,
  planList,
  planTest,
  planWholeRecord,
  type RowsPlan,
} from '../../collections/index.ts'
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
  const plan = planList(
    tools,
    relation,
    {
      fields: undefined,
      expand: [],
      filter: undefined,
      ...readConditions(field, tools.names.get(relation)?.columns),
      vector: undefined,
      distance: undefined,
      sort,
      perPage: limit,
      paging: { kind: 'offset', page: 1, total: 'none' },
      facets: undefined,
    },
    tools.limits,
  )
  const { conditions } = planRowsOf(tools, relation, field)
  const list: ListPlan = {
    ...plan,
    rows: { relation, conditions: [...plan.rows.conditions, ...conditions] },
    record: { ...plan.record, selection: planSelectedRecord(tools, relation, field, limit).selection },
    distinct,
  }
  return { kind: 'list', list, offset }
}

/** Reads the arguments that the REST list has as parameters, by the same rules. */
function readConditions({ args }: SelectedField, columns: ReadonlyMap<string, Column> = new Map()) {
  const quote = (name: string) => `"${(columns.get(name)?.name ?? name).replaceAll('"', '""')}"`
  const { search, fuzzy, near, within, bbox } = args as SpatialArguments & {
    readonly search?: string | null
    readonly fuzzy?: boolean | null
  }
  return {
    search: parseSearch({
      ...(search == null ? {} : { search }),
      ...(fuzzy == null ? {} : { fuzzy: String(fuzzy) }),
    }),
    spatial: parseSpatial({
      ...(near == null
        ? {}
        : { near: [quote(near.column), near.longitude, near.latitude, near.distance].join() }),
      ...(within == null ? {} : { within: `${quote(within.column)},${toText(within.geojson)}` }),
      ...(bbox == null
        ? {}
        : { bbox: [quote(bbox.column), bbox.minLng, bbox.minLat, bbox.maxLng, bbox.maxLat].join() }),
    }),
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
  readonly bbox?: {
    readonly column: string
    readonly minLng: number
    readonly minLat: number
    readonly maxLng: number
    readonly maxLat: number
  } | null
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
