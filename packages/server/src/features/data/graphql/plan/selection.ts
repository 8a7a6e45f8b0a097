import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import type { Relation } from '../../../../database/catalog/model.ts'
import {
  type AggregateMember,
  planOrder,
  type RelatedList,
  type RowsPlan,
  type RowValue,
  type SelectedAggregate,
  type SelectedFigure,
  type SelectedMember,
  type SelectedRecord,
} from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import { collectFields, type SelectedField, selectionsOf } from './fields.ts'
import { readOrder } from './order.ts'
import type { PlanTools } from './tools.ts'
import { planWhere } from './where.ts'

/** Records of a list at most, and of a list at the root without a limit. */
export const listLimit = 1000
/** Records of a list inside another one without a limit. */
const innerLimit = 25

/** Values beside the columns by their names: those that the rows have already, and those to compute. */
export type ComputedMembers = ReadonlyMap<string, 'selected' | RowValue>

const noneComputed: ComputedMembers = new Map()

/**
 * Plans the record that a field selects.
 *
 * @param around records that the lists around the field may have
 * @param computed values that the rows have beside their columns
 */
export function planSelectedRecord(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
  around: number,
  computed: ComputedMembers = noneComputed,
): SelectedRecord {
  const type = objectTypeOf(field)
  const selected = collectFields(tools.fields, type, selectionsOf(field))
  const selection = selected.map((each) => planMember(tools, each, type.name, around, computed))
  return { relation, selection }
}

function planMember(
  tools: PlanTools,
  field: SelectedField,
  typeName: string,
  around: number,
  computed: ComputedMembers,
): SelectedMember {
  const { key, meaning } = field
  switch (meaning?.kind) {
    case 'column': {
      const { column, isText, renamed } = meaning
      return { key, kind: 'column', column, isText, renamed }
    }
    case 'computed': {
      const value = computed.get(meaning.name)
      if (value === undefined) return { key, kind: 'computed', name: undefined }
      if (value === 'selected') return { key, kind: 'computed', name: meaning.name }
      // A highlight costs more than the rest of its record.
      tools.cost.add(around)
      return { key, kind: 'value', ...value }
    }
    case 'record': {
      const { relationship, from, target } = meaning
      const record = planSelectedRecord(tools, target, field, around)
      return { key, kind: 'record', related: { relationship, from }, record }
    }
    case 'records': {
      const { relationship, from, target } = meaning
      return {
        key,
        kind: 'records',
        related: { relationship, from },
        list: planRelatedList(tools, target, field, around),
      }
    }
    case 'relatedAggregate': {
      const { relationship, from, target } = meaning
      return {
        key,
        kind: 'aggregate',
        related: { relationship, from },
        aggregate: planSelectedAggregate(tools, target, field),
      }
    }
    default:
      return constant(field, typeName)
  }
}

function planRelatedList(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
  around: number,
): RelatedList {
  const { limit, offset } = readPage(field, innerLimit)
  tools.cost.add(around * limit)
  const { sort, distinct } = readOrder(tools, relation, field)
  return {
    record: planSelectedRecord(tools, relation, field, around * limit),
    rows: planRowsOf(tools, relation, field),
    order: planOrder(relation, sort, tools.reader, { catalog: tools.catalog }).keys,
    distinct,
    limit,
    offset,
  }
}

/** Plans the rows that the argument `where` of a field finds. */
export function planRowsOf(tools: PlanTools, relation: Relation, { args }: SelectedField): RowsPlan {
  const where = args.where as Readonly<Record<string, unknown>> | null | undefined
  if (where === undefined || where === null) return { relation, conditions: [] }
  return { relation, conditions: [{ kind: 'filter', filter: planWhere(tools, relation, where) }] }
}

/** Reads `limit` and `offset`. @throws AppError invalid_graphql_argument */
export function readPage({ args }: SelectedField, fallback: number): { limit: number; offset: number } {
  const limit = (args.limit ?? fallback) as number
  const offset = (args.offset ?? 0) as number
  if (limit < 0 || limit > listLimit) {
    throw graphqlErrors.invalidGraphqlArgument('limit', `expected an integer from 0 to ${listLimit}`)
  }
  if (offset < 0) throw graphqlErrors.invalidGraphqlArgument('offset', 'expected an integer from 0')
  return { limit, offset }
}

/** Plans the figures that a field selects. */
export function planSelectedAggregate(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
): SelectedAggregate {
  const selected = collectFields(tools.fields, objectTypeOf(field), selectionsOf(field))
  return {
    rows: planRowsOf(tools, relation, field),
    members: selected.map((each) => planAggregateMember(tools, each, objectTypeOf(field).name)),
  }
}

function planAggregateMember(tools: PlanTools, field: SelectedField, typeName: string): AggregateMember {
  const { key, meaning } = field
  if (meaning?.kind === 'count') return { key, kind: 'count' }
  if (meaning?.kind !== 'figures') return constant(field, typeName)
  const type = objectTypeOf(field)
  const figures = collectFields(tools.fields, type, selectionsOf(field)).map((each): SelectedFigure => {
    if (each.meaning?.kind !== 'figure') return constant(each, type.name)
    const { column, isText } = each.meaning
    return { key: each.key, kind: 'figure', function: meaning.function, column, isText }
  })
  return { key, kind: 'columns', figures }
}

/** Returns a member with a value that the database does not compute, such as `__typename`. */
export function constant({ key }: SelectedField, value: string) {
  return { key, kind: 'constant', value } as const
}

/** Returns the object type of the field's value. */
export function objectTypeOf({ field }: SelectedField): GraphQLObjectType {
  const type = field === undefined ? undefined : getNamedType(field.type)
  if (!isObjectType(type)) throw new TypeError('the field has no object type')
  return type
}
