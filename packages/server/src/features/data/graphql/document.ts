import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  specifiedRules,
  validate,
} from 'graphql'
import { Lru } from '../../../lib/lru.ts'
import { findExceededLimit, type OperationLimits } from './limits.ts'
import { parseDocument } from './parse.ts'

/** Validation stops after so many errors. */
const errorLimit = 20
/** Error of the library after 500,000 comparisons of fields with the same name. */
const comparisonsExceeded = 'Validation aborted.'
/** Documents that are remembered for a schema. */
const documentLimit = 500
/** Longer documents are not worth remembering. */
const rememberedLength = 20_000

/** A document that is valid for a schema, or why it is not. */
export interface PreparedDocument {
  readonly text: string
  /** Undefined for text that is no document, or exceeds a limit. */
  readonly document: DocumentNode | undefined
  readonly errors: readonly GraphQLError[]
  /** True if a newer schema may have what the document names. */
  readonly isSchemaFault: boolean
}

/** Parses and validates documents for one schema, and remembers them. */
export class Documents {
  readonly #schema: GraphQLSchema
  readonly #limits: OperationLimits
  readonly #prepared = new Lru<string, PreparedDocument>(documentLimit)

  constructor(schema: GraphQLSchema, limits: OperationLimits) {
    this.#schema = schema
    this.#limits = limits
  }

  prepare(text: string): PreparedDocument {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const prepared = this.#prepare(text)
    if (text.length <= rememberedLength) this.#prepared.set(text, prepared)
    return prepared
  }

  #prepare(text: string): PreparedDocument {
    const refused = (errors: readonly GraphQLError[]) => ({
      text,
      document: undefined,
      errors,
      isSchemaFault: false,
    })
    let document: DocumentNode
    try {
      document = parseDocument(text)
    } catch (error) {
      if (error instanceof GraphQLError) return refused([error])
      throw error
    }
    const exceeded = findExceededLimit(document, this.#limits)
    if (exceeded !== undefined) return refused([exceeded])
    const errors = validateDocument(this.#schema, document)
    if (errors.some(({ message }) => message === comparisonsExceeded)) {
      return refused([new GraphQLError('query selects the same fields too often')])
    }
    return { text, document, errors, isSchemaFault: errors.length > 0 }
  }
}

function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  try {
    return validate(schema, document, specifiedRules, { maxErrors: errorLimit })
  } catch (error) {
    // The rule of a single root field throws for a directive on it whose variable has no value yet.
    if (error instanceof GraphQLError) return [error]
    throw error
  }
}

/** Returns the operation of the name, or the only one. @throws GraphQLError when there is none */
export function findOperation(
  { definitions }: DocumentNode,
  name: string | undefined,
): OperationDefinitionNode {
  const operations = definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION)
  const [first] = operations
  if (first === undefined) throw new GraphQLError('Must provide an operation.')
  if (name === undefined || name === '') {
    if (operations.length === 1) return first
    throw new GraphQLError('Must provide operation name if query contains multiple operations.')
  }
  const found = operations.find((each) => each.name?.value === name)
  if (found === undefined) throw new GraphQLError(`Unknown operation named "${name}".`)
  return found
}
