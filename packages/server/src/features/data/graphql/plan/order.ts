import { Kind, type ValueNode } from 'graphql'
import type { Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import { isObject } from '../../../../lib/json.ts'
import type { SortTerm } from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import type { FieldContext, SelectedField } from './fields.ts'
import type { PlanTools } from './tools.ts'

export interface FieldOrder {
  readonly sort: readonly SortTerm[]
  /** Columns of `distinct_on`; the sort begins with them. */
  readonly distinct: readonly Column[]
}

const termLimit = 10
/** Maximum number of relations between a record and the column that it is sorted by, as in `sort` of a list. */
const relationLimit = 4

/**
 * Reads `order_by` and `distinct_on`. The members of an object sort in the order as sent, which coercion loses.
 *
 * @throws AppError invalid_graphql_argument
 */
export function readOrder(tools: PlanTools, relation: Relation, field: SelectedField): FieldOrder {
  const terms = sentOrder(tools, field).map(({ path, direction }) => ({
    ...resolvePath(tools, relation, path),
    descending: direction === 'DESC',
  }))
  if (terms.length > termLimit) {
    throw graphqlErrors.invalidGraphqlArgument('order_by', `expected at most ${termLimit} columns`)
  }
  const columns = tools.names.get(relation)?.columns
  const names = (field.args.distinct_on ?? []) as readonly string[]
  const distinct = [...new Set(names)].flatMap((name) => columns?.get(name) ?? [])
  return { distinct, sort: distinct.length === 0 ? terms : beginWith(distinct, terms) }
}

/**
 * Returns the names of the database for a path of fields, such as `['customer', 'name']`.
 *
 * @throws AppError invalid_graphql_argument
 */
function resolvePath(
  { names, catalog }: PlanTools,
  relation: Relation,
  path: readonly string[],
): Omit<SortTerm, 'descending'> {
  if (path.length > relationLimit + 1) {
    throw graphqlErrors.invalidGraphqlArgument('order_by', `expected at most ${relationLimit} relations`)
  }
  const resolved: string[] = []
  let from: Relation | undefined = relation
  for (const name of path.slice(0, -1)) {
    const relationship: Relationship | undefined = from && names.get(from)?.relationships.get(name)
    from = relationship && catalog.relations.get(relationship.target)
    resolved.push(relationship?.name ?? name)
  }
  const last = path.at(-1) ?? ''
  resolved.push((from && names.get(from)?.columns.get(last)?.name) ?? last)
  const column = resolved.join('.')
  return resolved.length === 1 ? { column } : { column, path: resolved, isPath: true }
}

/** Rejects terms of related records. @throws AppError invalid_graphql_argument */
export function requireOwnColumns(sort: readonly SortTerm[]): void {
  const related = sort.find(({ isPath }) => isPath === true)
  if (related === undefined) return
  throw graphqlErrors.invalidGraphqlArgument(
    'order_by',
    `expected columns of the records of a function, not "${related.column}" of related records`,
  )
}

/** Returns the terms, beginning with the columns of `distinct_on` (PostgreSQL, SELECT, DISTINCT Clause). */
function beginWith(distinct: readonly Column[], terms: readonly SortTerm[]): readonly SortTerm[] {
  const first = terms.slice(0, distinct.length).map(({ column, isPath }) => (isPath === true ? '' : column))
  const missing = distinct.filter(({ name }) => !first.includes(name))
  if (terms.length === 0) return distinct.map(({ name }) => ({ column: name, descending: false }))
  if (missing.length === 0) return terms
  throw graphqlErrors.invalidGraphqlArgument(
    'order_by',
    `expected it to begin with the columns of distinct_on: ${distinct.map(({ name }) => name).join(', ')}`,
  )
}

interface SentTerm {
  /** Names of fields: relations to one record, and a column. */
  readonly path: readonly string[]
  readonly direction: unknown
}

function sentOrder({ fields }: PlanTools, { nodes, args }: SelectedField): readonly SentTerm[] {
  // A parameter of a function may have the name.
  if (args.order_by === undefined) return []
  const node = nodes[0]?.arguments?.find(({ name }) => name.value === 'order_by')?.value
  const terms = node === undefined ? [] : readNode(node, fields, [])
  return terms.filter(({ direction }) => direction !== undefined && direction !== null)
}

/** @param path names of the fields above */
function readNode(node: ValueNode, fields: FieldContext, path: readonly string[]): readonly SentTerm[] {
  switch (node.kind) {
    case Kind.VARIABLE: {
      const name = node.name.value
      if (Object.hasOwn(fields.sentVariables, name)) return readValue(fields.sentVariables[name], path)
      const value = fields.defaults.get(name)
      return value === undefined ? [] : readNode(value, fields, path)
    }
    case Kind.LIST:
      return node.values.flatMap((each) => readNode(each, fields, path))
    case Kind.OBJECT:
      return node.fields.flatMap(({ name, value }) => readNode(value, fields, [...path, name.value]))
    case Kind.ENUM:
      return [{ path, direction: node.value }]
    default:
      return []
  }
}

function readValue(value: unknown, path: readonly string[]): readonly SentTerm[] {
  if (Array.isArray(value)) return value.flatMap((each) => readValue(each, path))
  if (isObject(value)) {
    return Object.entries(value).flatMap(([name, member]) => readValue(member, [...path, name]))
  }
  return path.length === 0 ? [] : [{ path, direction: value }]
}
