import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'

/** Limits of the text of one operation, by the configuration. */
export interface OperationLimits {
  readonly depth: number
  readonly rootFields: number
  readonly aliases: number
}

/**
 * Fields of one operation, with those of fragments at each use and those of introspection: the time of validation grows
 * with their square.
 */
const fieldLimit = 2000

/** Operations and fragments of a document: validation calls itself for each fragment in a chain. */
const definitionLimit = 500

/** Size of a selection set, with its fragments at each use. */
interface Size {
  /** Levels, without introspection. */
  readonly depth: number
  /** Fields on all levels, up to one above the limit. */
  readonly fields: number
  /** Fields of the first level, up to one above the limit. */
  readonly directFields: number
  /** Aliases, without introspection. */
  readonly aliases: number
}

const nothing: Size = { depth: 0, fields: 0, directFields: 0, aliases: 0 }

/**
 * Returns the first limit that an operation of the document exceeds. It reads the text alone, before validation. Depth and
 * aliases of introspection are not limited, as the schema bounds its response.
 */
export function findExceededLimit(document: DocumentNode, limits: OperationLimits): GraphQLError | undefined {
  if (document.definitions.length > definitionLimit) {
    return new GraphQLError(`document has more than ${definitionLimit} operations and fragments`)
  }
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const measure = createMeasure(fragments)
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    const problem = describeExcess(measure(definition.selectionSet), limits)
    if (problem !== undefined) return new GraphQLError(problem, { nodes: definition })
  }
  return undefined
}

function describeExcess(
  { depth, fields, aliases, directFields }: Size,
  limits: OperationLimits,
): string | undefined {
  if (fields > fieldLimit) return `query has more than ${fieldLimit} fields`
  if (depth > limits.depth) return `query depth ${depth} exceeds maximum allowed depth of ${limits.depth}`
  if (aliases > limits.aliases) return `query has ${aliases} aliases; at most ${limits.aliases} are allowed`
  return directFields > limits.rootFields
    ? `query has ${directFields} root fields; at most ${limits.rootFields} are allowed`
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
  const ofField = ({ name, alias, selectionSet }: FieldNode): Size => {
    const within = selectionSet === undefined ? nothing : measure(selectionSet)
    const isIntrospection = name.value === '__schema' || name.value === '__type'
    return {
      depth: isIntrospection ? 0 : within.depth + 1,
      fields: within.fields + 1,
      directFields: 1,
      aliases: isIntrospection ? 0 : within.aliases + (alias === undefined ? 0 : 1),
    }
  }
  const ofSelection = (selection: SelectionNode): Size => {
    if (selection.kind === Kind.FIELD) return ofField(selection)
    return selection.kind === Kind.FRAGMENT_SPREAD
      ? ofFragment(selection.name.value)
      : measure(selection.selectionSet)
  }
  const measure = ({ selections }: SelectionSetNode): Size => {
    let [depth, fields, directFields, aliases] = [0, 0, 0, 0]
    for (const selection of selections) {
      const size = ofSelection(selection)
      depth = Math.max(depth, size.depth)
      fields = Math.min(fields + size.fields, fieldLimit + 1)
      directFields = Math.min(directFields + size.directFields, fieldLimit + 1)
      aliases = Math.min(aliases + size.aliases, Number.MAX_SAFE_INTEGER)
    }
    return { depth, fields, directFields, aliases }
  }
  return measure
}
