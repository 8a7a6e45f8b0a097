import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type Condition,
  maySelect,
  privilegesOf,
  type Reader,
  requireReadable,
} from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import { formatEvent, type RecordAction } from './event-values.ts'
import { collectFields, type SelectedField, selectionsOf } from './fields.ts'
import { objectTypeOf } from './selection.ts'
import type { PlanTools } from './tools.ts'
import { comparisonOperators, levelLimit, subjectOf, toValue, type Where } from './where.ts'

/** Condition that the streams of changes can decide for each change. */
export type StreamCondition = Extract<Condition, { readonly kind: 'compare' | 'in' }>

/** Subscription to the changes of one table. */
export interface SubscriptionPlan {
  /** Name of the root field in the response. */
  readonly key: string
  readonly collection: string
  /** Conditions that must all hold. */
  readonly conditions: readonly StreamCondition[]
  /**
   * Returns the JSON text of the root field for a change.
   *
   * @param record JSON text of the record; after a delete, of its key as texts
   */
  readonly format: (action: RecordAction, record: string) => string
  /** Returns false if the catalog lacks something that the subscription reads, or the caller may no longer read it. */
  readonly holds: (catalog: Catalog) => boolean
}

/** Operators that a condition of a stream can have. */
const streamOperators = ['_eq', '_neq', '_gt', '_gte', '_lt', '_lte'] as const
const expressible = `expected ${streamOperators.join(', ')}, _in and _and`

/**
 * Plans the subscription of a root field.
 *
 * @throws AppError invalid_subscription_filter, invalid_graphql_argument
 */
export function planSubscription(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
): SubscriptionPlan {
  const type = objectTypeOf(field)
  const selected = collectFields(tools.fields, type, selectionsOf(field))
  const where = field.args.where as Where | null | undefined
  const conditions = where == null ? [] : planConditions(tools, relation, where, 0)
  const read = [
    ...selected.flatMap(({ meaning }) => (meaning?.kind === 'column' ? [meaning.column] : [])),
    ...conditions.flatMap(({ column }) => relation.column.get(column) ?? []),
  ]
  const members = selected.map(({ key, meaning }) => ({
    name: JSON.stringify(key),
    value: meaning?.kind === 'column' || meaning?.kind === 'action' ? meaning : type.name,
  }))
  return {
    key: field.key,
    collection: relation.collection,
    conditions,
    format: (action, record) => formatEvent(members, action, record),
    holds: (catalog) => holds(catalog, relation, read, tools.reader),
  }
}

function planConditions(
  tools: PlanTools,
  relation: Relation,
  where: Where,
  level: number,
): readonly StreamCondition[] {
  if (level > levelLimit) {
    throw graphqlErrors.invalidGraphqlArgument('where', `expected at most ${levelLimit} levels`)
  }
  const names = tools.names.get(relation)
  return Object.entries(where).flatMap(([name, value]): readonly StreamCondition[] => {
    if (value === undefined) return []
    if (value === null) throw graphqlErrors.invalidGraphqlArgument(name, 'expected conditions, not null')
    // A column may have one of these names: its comparisons are an object, and those of a list are not.
    if (name === '_and' && Array.isArray(value)) {
      return value.flatMap((each: Where) => planConditions(tools, relation, each, level + 1))
    }
    const column = names?.columns.get(name)
    if (column === undefined || Array.isArray(value) || name === '_not') {
      const what = names?.relationships.has(name) === true ? `conditions on related records (${name})` : name
      throw graphqlErrors.invalidSubscriptionFilter(what, expressible)
    }
    return planComparisons(requireReadable(column, tools.reader), value as Where)
  })
}

function planComparisons(column: Column, comparisons: Where): readonly StreamCondition[] {
  return Object.entries(comparisons).flatMap(([operator, value]): readonly StreamCondition[] => {
    if (value === undefined) return []
    const isList = operator === '_in'
    if (!isList && !isStreamOperator(operator)) {
      throw graphqlErrors.invalidSubscriptionFilter(`${operator} (${column.name})`, expressible)
    }
    if (value === null) {
      throw graphqlErrors.invalidGraphqlArgument(`${column.name}: ${operator}`, 'expected a value, not null')
    }
    const subject = subjectOf(column)
    if (isList) {
      const values = (value as readonly unknown[]).map((each) => toText(column, each))
      return [{ ...subject, kind: 'in', isNegated: false, values }]
    }
    return [
      { ...subject, kind: 'compare', operator: comparisonOperators[operator], value: toText(column, value) },
    ]
  })
}

function isStreamOperator(operator: string): operator is (typeof streamOperators)[number] {
  return (streamOperators as readonly string[]).includes(operator)
}

/** Returns a value as streams have it, which is always a text. */
function toText(column: Column, value: unknown) {
  return { kind: 'string', text: toValue(column, value).text } as const
}

function holds(catalog: Catalog, before: Relation, read: readonly Column[], reader: Reader): boolean {
  const now = catalog.relations.get(before.collection)
  if (now === before) return true
  if (now === undefined || now.kind !== before.kind || !privilegesOf(now, reader).select) return false
  if (reader !== 'unrestricted' && now.rlsGap !== undefined) return false
  return read.every((column) => {
    const found = now.column.get(column.name)
    return found !== undefined && maySelect(found, reader) && found.type.name === column.type.name
  })
}
