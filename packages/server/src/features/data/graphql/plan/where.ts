import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type Condition,
  type FilterPlan,
  mayFollow,
  planTest,
  requireReadable,
  requireRls,
  type Value,
} from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import { labelOf } from '../schema/column-types.ts'
import type { TableNames } from '../schema/names.ts'
import type { PlanTools } from './tools.ts'

/** Conditions on related records in one filter: each is a subquery. */
const relatedLimit = 20
export const levelLimit = 50

export type Where = Readonly<Record<string, unknown>>

/**
 * Plans a filter: of several conditions all must hold.
 *
 * @param allowsEmpty true if a column without comparisons is no condition, as in reads
 * @throws AppError invalid_filter, invalid_graphql_argument
 */
export function planWhere(
  tools: PlanTools,
  relation: Relation,
  where: Where,
  allowsEmpty = true,
): FilterPlan {
  let related = 0

  const planAll = (from: Relation, conditions: Where, level: number): FilterPlan => {
    if (level > levelLimit)
      throw graphqlErrors.invalidGraphqlArgument('where', `expected at most ${levelLimit} levels`)
    const names = tools.names.get(from)
    const terms = Object.entries(conditions).flatMap(([name, value]) => {
      if (value === undefined) return []
      if (value === null) throw graphqlErrors.invalidGraphqlArgument(name, 'expected conditions, not null')
      return [planMember(from, names, name, value, level)]
    })
    return { kind: 'and', terms }
  }

  const planMember = (
    from: Relation,
    names: TableNames | undefined,
    name: string,
    value: unknown,
    level: number,
  ): FilterPlan => {
    if (name === '_and' || name === '_or') {
      const terms = (value as readonly Where[]).map((each) => planAll(from, each, level + 1))
      return { kind: name === '_and' ? 'and' : 'or', terms }
    }
    if (name === '_not') return { kind: 'not', term: planAll(from, value as Where, level + 1) }
    const column = names?.columns.get(name)
    if (column !== undefined) {
      if (!allowsEmpty && Object.keys(value as Where).length === 0) {
        throw graphqlErrors.invalidGraphqlArgument('where', `${name}: expected a comparison`)
      }
      return planColumn(tools, column, value as Where)
    }
    const relationship = names?.relationships.get(name)
    const target = relationship && tools.catalog.relations.get(relationship.target)
    if (
      relationship === undefined ||
      target === undefined ||
      !mayFollow(from, relationship, target, tools.reader)
    ) {
      throw graphqlErrors.invalidGraphqlArgument('where', `unknown name ${name}`)
    }
    related += 1
    if (related > relatedLimit) {
      throw graphqlErrors.invalidGraphqlArgument(
        'where',
        `expected at most ${relatedLimit} conditions on related records`,
      )
    }
    requireRls(target, tools.reader)
    const condition = planAll(target, value as Where, level + 1)
    return { kind: 'related', relationship, from, relation: target, condition }
  }

  return planAll(relation, where, 0)
}

export const comparisonOperators = {
  _eq: '=',
  _neq: '!=',
  _gt: '>',
  _gte: '>=',
  _lt: '<',
  _lte: '<=',
  _like: '~',
  _ilike: '~*',
} as const

function planColumn({ reader, language }: PlanTools, column: Column, comparisons: Where): FilterPlan {
  requireReadable(column, reader)
  const terms = Object.entries(comparisons).map(([operator, value]): FilterPlan => {
    if (operator === '_is_null') return planNull(column, value, language)
    if (value === null || value === undefined) {
      throw graphqlErrors.invalidGraphqlArgument(
        `${column.name}: ${operator}`,
        'expected a value; use _is_null for null',
      )
    }
    if (operator === '_in' || operator === '_nin') {
      const values = (value as readonly unknown[]).map((each) => toValue(column, each))
      const isNegated = operator === '_nin'
      if (values.length === 0) return { kind: isNegated ? 'and' : 'or', terms: [] }
      return planTest(column, { ...subjectOf(column), kind: 'in', isNegated, values }, language)
    }
    const known = comparisonOperators[operator as keyof typeof comparisonOperators]
    const condition: Condition = {
      ...subjectOf(column),
      kind: 'compare',
      operator: known,
      value: toValue(column, value),
    }
    return planTest(column, condition, language)
  })
  return { kind: 'and', terms }
}

function planNull(column: Column, value: unknown, language: string): FilterPlan {
  if (typeof value !== 'boolean') {
    throw graphqlErrors.invalidGraphqlArgument(`${column.name}: _is_null`, 'expected true or false')
  }
  return planTest(
    column,
    { ...subjectOf(column), kind: 'compare', operator: value ? '=' : '!=', value: null },
    language,
  )
}

export function subjectOf({ name }: Column) {
  return { column: name, path: undefined, isPath: false, json: undefined, position: 0 }
}

/** Returns a value as a text that PostgreSQL reads. A label of an enum may be given by its name in the schema. */
export function toValue({ type }: Column, value: unknown): Value {
  if (type.base === 'json' || type.base === 'jsonb') return { kind: 'string', text: JSON.stringify(value) }
  if (typeof value === 'boolean') return { kind: 'boolean', text: String(value) }
  if (typeof value === 'number') return { kind: 'number', text: String(value) }
  if (typeof value === 'string') return { kind: 'string', text: labelOf(type, value) ?? value }
  return { kind: 'string', text: JSON.stringify(value) }
}
