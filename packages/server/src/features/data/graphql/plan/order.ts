import { Kind, type ValueNode } from 'graphql'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
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

/**
 * Reads `order_by` and `distinct_on`. The members of an object sort in the order as sent, which coercion loses.
 *
 * @throws AppError invalid_graphql_argument
 */
export function readOrder(tools: PlanTools, relation: Relation, field: SelectedField): FieldOrder {
  const columns = tools.names.get(relation)?.columns
  const terms = sentOrder(tools, field).flatMap(({ name, direction }): SortTerm[] => {
    const column = columns?.get(name)
    return column === undefined ? [] : [{ column: column.name, descending: direction === 'DESC' }]
  })
  if (terms.length > termLimit) {
    throw graphqlErrors.invalidGraphqlArgument('order_by', `expected at most ${termLimit} columns`)
  }
  const names = (field.args.distinct_on ?? []) as readonly string[]
  const distinct = [...new Set(names)].flatMap((name) => columns?.get(name) ?? [])
  return { distinct, sort: distinct.length === 0 ? terms : beginWith(distinct, terms) }
}

/** Returns the terms, beginning with the columns of `distinct_on` (PostgreSQL, SELECT, DISTINCT Clause). */
function beginWith(distinct: readonly Column[], terms: readonly SortTerm[]): readonly SortTerm[] {
  const first = terms.slice(0, distinct.length).map(({ column }) => column)
  const missing = distinct.filter(({ name }) => !first.includes(name))
  if (terms.length === 0) return distinct.map(({ name }) => ({ column: name, descending: false }))
  if (missing.length === 0) return terms
  throw graphqlErrors.invalidGraphqlArgument(
    'order_by',
    `expected it to begin with the columns of distinct_on: ${distinct.map(({ name }) => name).join(', ')}`,
  )
}

interface SentTerm {
  readonly name: string
  readonly direction: unknown
}

function sentOrder({ fields }: PlanTools, { nodes, args }: SelectedField): readonly SentTerm[] {
  // A parameter of a function may have the name.
  if (args.order_by === undefined) return []
  const node = nodes[0]?.arguments?.find(({ name }) => name.value === 'order_by')?.value
  const terms = node === undefined ? [] : readNode(node, fields)
  return terms.filter(({ direction }) => direction !== undefined && direction !== null)
}

function readNode(node: ValueNode, fields: FieldContext): readonly SentTerm[] {
  switch (node.kind) {
    case Kind.VARIABLE: {
      const name = node.name.value
      if (Object.hasOwn(fields.sentVariables, name)) return readValue(fields.sentVariables[name])
      const value = fields.defaults.get(name)
      return value === undefined ? [] : readNode(value, fields)
    }
    case Kind.LIST:
      return node.values.flatMap((each) => readNode(each, fields))
    case Kind.OBJECT:
      return node.fields.map(({ name, value }) => ({
        name: name.value,
        direction:
          value.kind === Kind.VARIABLE
            ? fields.variables[value.name.value]
            : value.kind === Kind.ENUM
              ? value.value
              : undefined,
      }))
    default:
      return []
  }
}

function readValue(value: unknown): readonly SentTerm[] {
  const objects = Array.isArray(value) ? value : [value]
  return objects
    .filter(isObject)
    .flatMap((each) => Object.entries(each).map(([name, direction]) => ({ name, direction })))
}
