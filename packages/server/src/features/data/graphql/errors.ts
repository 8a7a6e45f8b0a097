import { defineErrors, type ErrorTable } from '../../../lib/errors.ts'

export const graphqlErrorTable = {
  invalidGraphqlArgument: {
    status: 400,
    message: (argument: string, problem: string) => `${argument}: ${problem}`,
    help: 'The value of a GraphQL argument has the right type, but no meaning for this field. The message names the argument and what was expected.',
  },
  invalidGraphqlRequest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The body of a GraphQL request is not an object with `query`, `variables` and `operationName`. The message names the member.',
  },
  graphqlCostExceeded: {
    status: 400,
    message: (cost: number, limit: number) =>
      `query cost ${cost} exceeds maximum allowed cost of ${limit} records`,
    help: 'The lists of the operation could return more records than `graphql.max_cost`. Set a `limit` on inner lists, or split the operation.',
  },
  functionWrites: {
    status: 400,
    message: (name: string) => `function "${name}" writes in a query`,
    help: 'A query runs in a read-only transaction. The function is declared stable or immutable and writes nevertheless, for example by a function that it calls. Declare it volatile: it is then a field of mutations.',
  },
  invalidSubscriptionFilter: {
    status: 400,
    message: (what: string, expected: string) => `where: a subscription cannot have ${what}; ${expected}`,
    help: 'Each change is tested by itself, so conditions compare columns with values and must all hold.',
  },
  subscriptionNeedsStream: {
    status: 400,
    message: 'a subscription needs a WebSocket, or an event stream by `Accept: text/event-stream`',
    help: 'Connect by `graphql-transport-ws` to the same path, or accept `text/event-stream`.',
  },
  schemaChanged: {
    status: 409,
    message: 'the table has changed, or may no longer be read; subscribe again',
    help: 'A column that the subscription reads was dropped, has another type, or may no longer be read. It has ended.',
  },
  introspectionRefused: {
    status: 403,
    message: 'introspection requires admin access',
    help: '`graphql.introspection` is `admin`: only an administrator may read the schema.',
  },
  introspectionDisabled: {
    status: 403,
    message: 'introspection is disabled',
    help: '`graphql.introspection` is `disabled`.',
  },
  mutationByGet: {
    status: 405,
    message: 'a mutation requires POST',
    help: 'GET serves queries only, so that links and caches change nothing. Send the mutation by POST.',
  },
  persistedQueryNotFound: {
    status: 400,
    message: 'PersistedQueryNotFound',
    help: 'No document of this hash is listed. Send its text, or list it first by `basalt graphql persist`. Clients do not list documents.',
  },
  persistedQueryNotSupported: {
    status: 400,
    message: 'PersistedQueryNotSupported',
    help: 'The request names a document by its hash, and `graphql.persisted` is `off`. Send the text of the document.',
  },
  documentNotAllowed: {
    status: 403,
    message: 'the document is not listed',
    help: '`graphql.persisted` is `only`: the server runs listed documents alone. List it with `basalt graphql persist`.',
  },
  documentNotListed: {
    status: 404,
    message: 'no document of this hash is listed',
    help: 'The hash of the path names no persisted document.',
  },
  invalidDocumentManifest: {
    status: 400,
    message: (problem: string) => `manifest: ${problem}`,
    help: 'The manifest has no documents, or one whose hash or text is wrong. The message names it.',
  },
  invalidGraphqlDocument: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The document has a syntax error, does not fit the schema, exceeds a limit, or its variables have the wrong type. The message says where.',
  },
} as const satisfies ErrorTable

export const graphqlErrors = defineErrors(graphqlErrorTable)
