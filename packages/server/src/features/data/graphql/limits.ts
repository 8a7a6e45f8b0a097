import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** Limits of the text of one operation, by the configuration. */
export interface OperationLimits {
  readonly depth: number
  readonly rootFields: number
  readonly aliases: number
}

/** Fields of one operation, with those of fragments at each use: more take long to validate. */
const fieldLimit = 5000

interface Size {
  readonly depth: number
  readonly fields: number
  readonly aliases: number
}

const nothing: Size = { depth: 0, fields: 0, aliases: 0 }

/**
 * Returns the first limit that an operation of the document exceeds. It reads the text alone, before validation, whose
 * time grows with the square of the fields. Introspection is limited by itself.
 */
export function findExceededLimit(document: DocumentNode, limits: OperationLimits): GraphQLError | undefined {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const measure = createMeasure(fragments)
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    const problem = describeExcess(definition, measure, fragments, limits)
    if (problem !== undefined) return new GraphQLError(problem, { nodes: definition })
  }
  return undefined
}

function describeExcess(
  operation: OperationDefinitionNode,
  measure: (set: SelectionSetNode) => Size,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  limits: OperationLimits,
): string | undefined {
  const { depth, fields, aliases } = measure(operation.selectionSet)
  if (fields > fieldLimit) return `query has more than ${fieldLimit} fields`
  if (depth > limits.depth) return `query depth ${depth} exceeds maximum allowed depth of ${limits.depth}`
  if (aliases > limits.aliases) return `query has ${aliases} aliases; at most ${limits.aliases} are allowed`
  const roots = countRootFields(operation.selectionSet, fragments)
  return roots > limits.rootFields
    ? `query has ${roots} root fields; at most ${limits.rootFields} are allowed`
    : undefined
}

/** Measures each fragment once. One that contains itself counts as empty, since validation refuses it. */
function createMeasure(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
  const known = new Map<string, Size>()
  const ofFragment = (name: string): Size => {
    const found = known.get(name)
    if (found !== undefined) return found
    known.set(name, nothing)
    const fragment = fragments.get(name)
    const size = fragment === undefined ? nothing : measure(fragment.selectionSet)
    known.set(name, size)
    return size
  }
  const measure = ({ selections }: SelectionSetNode): Size => {
    let [depth, fields, aliases] = [0, 0, 0]
    const add = (size: Size, levels: number) => {
      depth = Math.max(depth, size.depth + levels)
      fields = Math.min(fields + size.fields, fieldLimit + 1)
      aliases = Math.min(aliases + size.aliases, Number.MAX_SAFE_INTEGER)
    }
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) add(ofFragment(selection.name.value), 0)
      else if (selection.kind === Kind.INLINE_FRAGMENT) add(measure(selection.selectionSet), 0)
      else if (!isIntrospection(selection.name.value)) {
        fields += 1
        aliases += selection.alias === undefined ? 0 : 1
        add(selection.selectionSet === undefined ? nothing : measure(selection.selectionSet), 1)
      }
    }
    return { depth, fields, aliases }
  }
  return measure
}

function countRootFields(
  { selections }: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  visited: ReadonlySet<string> = new Set(),
): number {
  let count = 0
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) count += 1
    else if (selection.kind === Kind.INLINE_FRAGMENT) {
      count += countRootFields(selection.selectionSet, fragments, visited)
    } else if (!visited.has(selection.name.value)) {
      const fragment = fragments.get(selection.name.value)
      const within = new Set([...visited, selection.name.value])
      if (fragment !== undefined) count += countRootFields(fragment.selectionSet, fragments, within)
    }
  }
  return count
}

function isIntrospection(name: string): boolean {
  return name === '__schema' || name === '__type'
}
