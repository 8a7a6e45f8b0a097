import { isBasaltError } from './errors.ts'
import { printDocument } from './graphql-document.ts'
import { readGraphql } from './response.ts'
import type { Transport, WriteOptions } from './transport.ts'

/** GraphQL document with the types of its result and variables: `TypedDocumentNode` or `TypedDocumentString` of graphql-codegen. */
export interface TypedGraphqlDocument<Result, Variables> {
  readonly __apiType?: ((variables: Variables) => Result) | undefined
}

/** GraphQL document: its text, or its syntax tree as the tag `gql` makes it. */
export type GraphqlDocument =
  | string
  // A typed document must not be accepted as an untyped one because its variables are wrong.
  | { readonly kind: 'Document'; readonly definitions: readonly object[]; readonly __apiType?: never }

/** Options of a GraphQL operation. */
export interface GraphqlOptions extends WriteOptions {
  /** Operation to run, if the document has several. */
  readonly operationName?: string | undefined
}

/** Arguments after a typed document. The variables can be left out if none of them is required. */
export type GraphqlArguments<Variables> =
  Record<never, never> extends Variables
    ? [variables?: Variables | undefined, options?: GraphqlOptions]
    : [variables: Variables, options?: GraphqlOptions]

/** @internal Runs an operation and returns its data. Its idempotency key has no effect on a query. */
export async function sendGraphql(
  transport: Transport,
  document: object | string,
  variables: unknown,
  { operationName, ...options }: GraphqlOptions = {},
): Promise<unknown> {
  const { query, documentId } = readDocument(document)
  const send = (sent: object) =>
    transport.write(
      'POST',
      'graphql',
      { ...options, body: { ...sent, variables, operationName } },
      readGraphql,
    )
  if (documentId === undefined) return await send({ query })
  try {
    return await send({ documentId })
  } catch (error) {
    const isUnlisted = isBasaltError(error, 'persisted_query_not_found', 'persisted_query_not_supported')
    if (!isUnlisted || query === '') throw error
    return await send({ query })
  }
}

/**
 * Returns the text of a document, and its hash if a code generator listed it as persisted. The text is empty if the generator
 * kept the hash alone.
 *
 * @throws TypeError for a value that is no document
 */
function readDocument(document: unknown): {
  readonly query: string
  readonly documentId: string | undefined
} {
  if (typeof document === 'string') return { query: document, documentId: undefined }
  const { __meta__: meta, definitions } = (document ?? {}) as GeneratedDocument
  const documentId = typeof meta?.hash === 'string' ? meta.hash : undefined
  if (document instanceof String) return { query: String(document), documentId }
  if (Array.isArray(definitions)) return { query: printDocument(definitions), documentId }
  if (documentId !== undefined) return { query: '', documentId }
  throw new TypeError('document is a text, or a document that gql or graphql-codegen made')
}

/** Document of graphql-codegen. `__meta__` has its hash with `persistedDocuments`. */
interface GeneratedDocument {
  readonly definitions?: unknown
  readonly __meta__?: { readonly hash?: unknown }
}
