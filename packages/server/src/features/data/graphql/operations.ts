import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Catalog } from '../../../database/catalog/model.ts'
import { asText, ok, operation } from '../../../http/operation.ts'
import { upgradeOfferOf } from '../../../http/requests/upgrade.ts'
import { component } from '../../../http/schemas.ts'
import { AppError } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { admitWhere, type Caller, callerOf } from '../collections/index.ts'
import { idempotencyHeaders } from '../idempotency/index.ts'
import { graphqlErrors } from './errors.ts'
import { acceptsEvents, acceptsOnlyEvents, sendResult } from './event-stream.ts'
import type { Graphql } from './graphql.ts'
import { hashDocument } from './persisted/document.ts'
import { type GraphqlRequest, readGet, readPayload, readPost } from './request.ts'
import {
  describeError,
  describeFailure,
  describeRequestErrors,
  isGraphqlResponse,
  isInStream,
  statusOf,
} from './response.ts'
import type { GraphqlOperations, RequestedSubscription } from './streams.ts'

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
  admitsAnonymous: (request: FastifyRequest, graphql: Graphql) => admitsAnonymous(graphql, request),
} as const

const post = operation({
  ...common,
  id: 'graphql.run',
  method: 'POST',
  summary: 'Run a GraphQL operation',
  description:
    'One message to the database for each operation, under the policies of the caller. `Accept: application/graphql-response+json` gives errors of the request the status 400. `Accept: text/event-stream` sends the events `next` and `complete` (GraphQL over Server-Sent Events, distinct connections), and is how a subscription is requested. `Last-Event-ID` or `extensions.lastEventId` resumes it.',
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
    respond(graphql, http, reply, async () => {
      return await run(graphql, readPost(http), callerOf(http, reply), false)
    }),
})

const get = operation({
  ...common,
  id: 'graphql.query',
  method: 'GET',
  summary: 'Run a GraphQL query',
  description:
    'Queries and subscriptions. `variables` and `extensions` are JSON. A WebSocket handshake opens a socket for all operations, with the subprotocol `graphql-transport-ws`: `connection_init` has `token` or `Authorization`. The server closes with 4400 after an invalid message, 4401 without a valid token and at its end, 4403 while a second factor is due, and 4406 without the subprotocol. It closes with 4408 without `connection_init` in 10 seconds, 4409 after a duplicate id, 4429 after a second `connection_init`, and 4008 beyond the limits of connections and requests. It closes with 1009 after a message beyond `server.body_limit`, 1013 for a slow client, and 1001 when the server stops.',
  upgrade: true,
  query: Type.Object({
    query: Type.Optional(Type.String()),
    operationName: Type.Optional(Type.String()),
    variables: Type.Optional(Type.String()),
    documentId: Type.Optional(Type.String()),
    extensions: Type.Optional(Type.String()),
  }),
  handle(graphql: Graphql, { http }, reply) {
    if (upgradeOfferOf(http) !== undefined) {
      graphql.streams.openSocket(http, reply, operationsOf(graphql, http))
      return ''
    }
    return respond(graphql, http, reply, async () => {
      return await run(graphql, readGet(http), callerOf(http, reply), true)
    })
  },
})

export const graphqlOperations = [post, get]

async function run(
  { documents, engine, config }: Graphql,
  request: GraphqlRequest,
  caller: Caller,
  isQueryOnly: boolean,
): Promise<string | RequestedSubscription> {
  const query = await findText(config.persisted, request, (hash) => documents.find(hash))
  const loaded = await engine()
  const result = await loaded.run({ ...request, query }, caller, isQueryOnly)
  return typeof result === 'string' ? result : { plan: result, ...request.stream }
}

function operationsOf(graphql: Graphql, http: FastifyRequest): GraphqlOperations {
  return {
    run: async (payload, caller) => await run(graphql, readPayload(payload), caller, false),
    admitsAnonymous: () => admitsAnonymous(graphql, http),
  }
}

function admitsAnonymous(
  { collections, config }: Graphql,
  request: FastifyRequest,
): boolean | Promise<boolean> {
  return config.introspection === 'open' || admitWhere(collections.catalog, isAnythingGranted, request)
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

/** Runs the work and sends its data, its subscription, or its errors in the envelope of GraphQL. */
async function respond(
  { streams }: Graphql,
  http: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<string | RequestedSubscription>,
): Promise<string> {
  const isGraphql = isGraphqlResponse(http)
  const isEvents = acceptsOnlyEvents(http)
  if (isGraphql) void reply.type('application/graphql-response+json; charset=utf-8')
  try {
    const result = await work()
    if (typeof result !== 'string') {
      if (!acceptsEvents(http)) throw graphqlErrors.subscriptionNeedsStream()
      await streams.openEvents(http, reply, result)
      return ''
    }
    const body = `{"data":${result}}`
    if (isEvents) sendResult(reply, body)
    return isEvents ? '' : body
  } catch (error) {
    if (isEvents && isInStream(error)) {
      sendResult(reply, JSON.stringify(describeFailure(error)?.result))
      return ''
    }
    const requestErrors = describeRequestErrors(error)
    if (requestErrors !== undefined) {
      if (isGraphql) void reply.code(400)
      return formatErrors(requestErrors, isGraphql)
    }
    // The error handler logs it, and sends its envelope as `response.ts` has it. A token may end before its stream begins.
    if (!(error instanceof AppError) || error.status >= 500 || error.status === 401) throw error
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
