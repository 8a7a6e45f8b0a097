import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Catalog } from '../../../database/catalog/model.ts'
import { asText, ok, operation } from '../../../http/operation.ts'
import { component } from '../../../http/schemas.ts'
import { AppError } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { admitWhere, callerOf } from '../collections/index.ts'
import { idempotencyHeaders } from '../idempotency/index.ts'
import { graphqlErrors } from './errors.ts'
import type { Graphql } from './graphql.ts'
import { hashDocument } from './persisted/document.ts'
import { type GraphqlRequest, readGet, readPost } from './request.ts'
import { describeError, describeRequestErrors, isGraphqlResponse, statusOf } from './response.ts'

const GraphqlResponse = component(
  'GraphqlResponse',
  Type.Object(
    {
      data: Type.Optional(
        Type.Unsafe<unknown>({ description: 'Values of the selected fields; null after an error.' }),
      ),
      errors: Type.Optional(
        Type.Array(
          Type.Object({
            message: Type.String(),
            locations: Type.Optional(
              Type.Array(Type.Object({ line: Type.Integer(), column: Type.Integer() })),
            ),
            path: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Integer()]))),
            extensions: Type.Optional(
              Type.Object(
                { code: Type.String({ description: 'Stable slug; see the error reference.' }) },
                { additionalProperties: true },
              ),
            ),
          }),
        ),
      ),
    },
    { description: 'Response of a GraphQL request (GraphQL specification, Response Format).' },
  ),
)

const common = {
  guard: 'data',
  programs: 'read',
  tag: 'graphql',
  path: '/api/graphql',
  success: asText(ok(GraphqlResponse)),
  admitsAnonymous: (request: FastifyRequest, { collections, config }: Graphql) =>
    config.introspection === 'open' || admitWhere(collections.catalog, isAnythingGranted, request),
} as const

const post = operation({
  ...common,
  id: 'graphql.run',
  method: 'POST',
  summary: 'Run a GraphQL operation',
  description:
    'One message to the database for each operation, under the policies of the caller. `Accept: application/graphql-response+json` gives errors of the request the status 400.',
  headers: Type.Object(idempotencyHeaders),
  body: Type.Object({
    query: Type.Optional(Type.String({ description: 'Document; optional with `documentId`.' })),
    operationName: Type.Optional(Type.String({ description: 'Operation to run, where there are several.' })),
    variables: Type.Optional(Type.Object({}, { additionalProperties: true })),
    documentId: Type.Optional(
      Type.String({ description: 'Hash of a persisted document: `sha256:` and hexadecimal digits.' }),
    ),
    extensions: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
  handle: (graphql: Graphql, { http }, reply) =>
    respond(http, reply, async () => await run(graphql, readPost(http), http, reply, false)),
})

const get = operation({
  ...common,
  id: 'graphql.query',
  method: 'GET',
  summary: 'Run a GraphQL query',
  description: 'Queries only. `variables` and `extensions` are JSON.',
  query: Type.Object({
    query: Type.Optional(Type.String()),
    operationName: Type.Optional(Type.String()),
    variables: Type.Optional(Type.String()),
    documentId: Type.Optional(Type.String()),
    extensions: Type.Optional(Type.String()),
  }),
  handle: (graphql: Graphql, { http }, reply) =>
    respond(http, reply, async () => await run(graphql, readGet(http), http, reply, true)),
})

export const graphqlOperations = [post, get]

async function run(
  { documents, engine, config }: Graphql,
  request: GraphqlRequest,
  http: FastifyRequest,
  reply: FastifyReply,
  isQueryOnly: boolean,
): Promise<string> {
  const query = await findText(config.persisted, request, (hash) => documents.find(hash))
  const loaded = await engine()
  return await loaded.run({ ...request, query }, callerOf(http, reply), isQueryOnly)
}

/**
 * Returns the text of the document that the request sends or names.
 *
 * @throws AppError invalid_graphql_request, persisted_query_not_found, persisted_query_not_supported, document_not_allowed
 */
async function findText(
  persisted: Graphql['config']['persisted'],
  { query, hash }: GraphqlRequest,
  find: (hash: string) => Promise<string | undefined>,
): Promise<string> {
  if (hash === undefined || persisted === 'off') {
    if (query === undefined && hash !== undefined) throw graphqlErrors.persistedQueryNotSupported()
    if (query === undefined) throw graphqlErrors.invalidGraphqlRequest('Must provide query string.')
    if (persisted !== 'only') return query
  }
  const listed = await find(hash ?? hashDocument(query ?? ''))
  if (listed !== undefined && (query === undefined || query === listed)) return listed
  if (persisted === 'only') throw graphqlErrors.documentNotAllowed()
  if (query === undefined) throw graphqlErrors.persistedQueryNotFound()
  if (hash !== undefined && hashDocument(query) !== hash) {
    throw graphqlErrors.invalidGraphqlRequest('provided sha does not match query')
  }
  return query
}

/** Runs the work and sends its data, or its errors in the envelope of GraphQL. */
async function respond(
  http: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<string>,
): Promise<string> {
  const isGraphql = isGraphqlResponse(http)
  if (isGraphql) void reply.type('application/graphql-response+json; charset=utf-8')
  try {
    return `{"data":${await work()}}`
  } catch (error) {
    const requestErrors = describeRequestErrors(error)
    if (requestErrors !== undefined) {
      if (isGraphql) void reply.code(400)
      return formatErrors(requestErrors, isGraphql)
    }
    // The error handler logs it, and sends its envelope as `response.ts` has it.
    if (!(error instanceof AppError) || error.status >= 500) throw error
    const status = statusOf(error, isGraphql)
    void reply.code(status).headers(error.extras.headers ?? {})
    return formatErrors([describeError(error)], isGraphql && status >= 400)
  }
}

/** Formats errors. In the media type of GraphQL, `data` means that the operation was run. */
function formatErrors(errors: readonly unknown[], hasNoData: boolean): string {
  return JSON.stringify(hasNoData ? { errors } : { data: null, errors })
}

/** Returns whether some collection or function is open to requests without a token. */
function isAnythingGranted({ relations, functions }: Catalog): boolean {
  return (
    [...relations.values()].some(({ anonymous }) => Object.values(anonymous).includes(true)) ||
    functions.some(({ anonymousMayExecute }) => anonymousMayExecute)
  )
}
