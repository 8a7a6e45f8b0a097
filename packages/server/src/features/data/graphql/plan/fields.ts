import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import type { FieldMeaning } from '../schema/meaning.ts'

/** Schema, fragments and variables of an operation. */
export interface FieldContext {
  readonly schema: GraphQLSchema
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>
  /** Variables as sent, for the order of members. */
  readonly sentVariables: Readonly<Record<string, unknown>>
  /** Default values of variables. */
  readonly defaults: ReadonlyMap<string, ValueNode>
}

/** Field of a selection set, with all selections that share its response key. */
export interface SelectedField {
  /** Name in the response. */
  readonly key: string
  readonly name: string
  readonly nodes: readonly FieldNode[]
  /** Undefined for fields that GraphQL itself defines. */
  readonly field: GraphQLField<unknown, unknown> | undefined
  readonly meaning: FieldMeaning | undefined
  /** Coerced arguments. */
  readonly args: Readonly<Record<string, unknown>>
}

/** PostgreSQL truncates longer names. */
const keyLimit = 63

/**
 * Returns the fields of the selection sets in the order of the response, fragments and directives applied (GraphQL
 * specification, Field Collection).
 *
 * @throws GraphQLError for arguments that cannot be coerced
 */
export function collectFields(
  context: FieldContext,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): readonly SelectedField[] {
  const nodes = new Map<string, FieldNode[]>()
  for (const set of sets) collectNodes(context, set, nodes, new Set())
  const fields = type.getFields()
  return [...nodes].map(([key, group]) => {
    const [node] = group
    const name = node?.name.value ?? ''
    if (key.length > keyLimit) {
      throw new GraphQLError(`alias: expected at most ${keyLimit} characters`, { nodes: group })
    }
    const field = fields[name]
    const args =
      field === undefined || node === undefined ? {} : getArgumentValues(field, node, context.variables)
    return { key, name, nodes: group, field, meaning: field?.extensions.meaning, args }
  })
}

/** Returns the selection sets below a field. */
export function selectionsOf({ nodes }: SelectedField): readonly SelectionSetNode[] {
  return nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
}

/** Collects fields by response key. The type condition of a fragment always holds: the schema has no abstract types. */
function collectNodes(
  context: FieldContext,
  { selections }: SelectionSetNode,
  nodes: Map<string, FieldNode[]>,
  visited: Set<string>,
): void {
  for (const selection of selections) {
    if (!isIncluded(context, selection)) continue
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value
      const group = nodes.get(key)
      if (group === undefined) nodes.set(key, [selection])
      else group.push(selection)
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      collectNodes(context, selection.selectionSet, nodes, visited)
    } else if (!visited.has(selection.name.value)) {
      visited.add(selection.name.value)
      const fragment = context.fragments.get(selection.name.value)
      if (fragment !== undefined) collectNodes(context, fragment.selectionSet, nodes, visited)
    }
  }
}

function isIncluded({ variables }: FieldContext, node: SelectionNode): boolean {
  if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true) return false
  return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false
}
