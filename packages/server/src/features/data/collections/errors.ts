import { defineErrors } from '../../../lib/errors.ts'

export const collectionErrorTable = {
  collectionNotFound: {
    status: 404,
    message: (name: string, table?: string) =>
      table === undefined
        ? `collection not found: ${name}`
        : `collection not found: ${name} is a partition; ask for ${table}`,
    help: 'No table or view of `database.schemas` has this name. Outside `public` it is `schema.table`. Partitions are served through their table, unless `database.expose_partitions` is true.',
  },
  recordNotFound: {
    status: 404,
    message: (id?: string) => (id === undefined ? 'record not found' : `record not found: ${id}`),
    help: 'No record has this primary key, or no policy lets the caller read it.',
  },
  writeNotAllowed: {
    status: 405,
    message: (kind: string) => `write operations not allowed on ${kind}`,
    help: 'Only tables and partitioned tables accept writes.',
  },
  rlsRequired: {
    status: 403,
    message: (collection: string, remedy: string) =>
      `"${collection}" is not protected by row-level security: ${remedy}`,
    help: 'With `database.require_rls`, only administrators reach relations without row-level security. The message has the statement that fixes it.',
  },
  noPrimaryKey: {
    status: 400,
    message: 'table has no primary key',
    help: 'Single records are addressed by primary key; this table or view has none.',
  },
  invalidPrimaryKey: {
    status: 400,
    message: (count: number) => `invalid primary key: expected ${count} ${count === 1 ? 'value' : 'values'}`,
    help: 'A composite key is written as its values in order, joined by commas. A comma inside a value is written as `%2C`.',
  },
  invalidParameter: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A query parameter has the wrong form; the message names it and what was expected.',
  },
  invalidPrecondition: {
    status: 400,
    message: (name: string) => `${name}: expected entity tags in double quotes, or *`,
    help: 'A precondition has the entity tags of responses as they were sent, such as `"5f3a.09c1"`, separated by commas, or `*` for any version.',
  },
  preconditionNotSupported: {
    status: 400,
    message: (problem: string) => `If-Match: ${problem}`,
    help: 'Only a write of one record has a precondition. A batch states it per operation as `ifMatch`.',
  },
  invalidReadConsistency: {
    status: 400,
    message: 'X-Read-Consistency is eventual or strong',
    help: 'A read names the state that it must see by `X-Read-Consistency: eventual` (any replica) or `strong` (the primary).',
  },
  invalidPosition: {
    status: 400,
    message: 'X-Basalt-Position is a position that a write has returned, such as 16/B374D848',
    help: 'A read that must see a write sends the `X-Basalt-Position` of its response unchanged.',
  },
  unsupportedParameter: {
    status: 400,
    message: (name: string) => `unsupported parameter "${name}"`,
    help: 'The parameter cannot be combined with the others of the request.',
  },
  searchNotSupported: {
    status: 400,
    message: (problem: string) => `search not supported: ${problem}`,
    help: 'Search covers the columns of the types text, varchar, char, name and citext that the caller may read.',
  },
  fuzzySearchUnavailable: {
    status: 400,
    message: 'fuzzy search is unavailable because pg_trgm is not installed',
    help: 'An administrator installs the extension: `create extension pg_trgm`.',
  },
  invalidFilter: {
    status: 400,
    message: (problem: string) => `invalid filter: ${problem}`,
    help: 'The filter does not follow the grammar, or names an unknown column. `data` has the position, in characters from 0.',
  },
  unknownFilterColumn: {
    status: 400,
    message: (name: string) => `invalid filter: unknown column: ${name}`,
    help: 'The collection has no such column. Names are case-sensitive. Names with special characters go in double quotes.',
  },
  filterTooLong: {
    status: 400,
    message: 'filter expression too long',
    help: 'A filter may have at most 10000 bytes.',
  },
  unknownColumn: {
    status: 400,
    message: (name: string, parameter: string) => `unknown column "${name}" in ${parameter}`,
    help: 'The collection, or the composite type of a value, has no such column. Names are case-sensitive.',
  },
  unknownRelation: {
    status: 400,
    message: (name: string, collection: string) => `unknown relation "${name}" of ${collection} in expand`,
    help: 'No foreign key gives this name; `GET /api/schema` lists them as `relationships`.',
  },
  vectorColumnNotFound: {
    status: 400,
    message: (name: string, table: string) => `column "${name}" not found in table "${table}"`,
    help: 'The collection has no such column. Names are case-sensitive.',
  },
  notVectorColumn: {
    status: 400,
    message: (name: string, type: string) => `column "${name}" is not a vector column (type: ${type})`,
    help: "Columns of pgvector's types `vector`, `halfvec` and `sparsevec` can be compared with a vector.",
  },
  noVectorColumns: {
    status: 400,
    message: (table: string) => `table "${table}" has no vector columns`,
    help: "Columns of pgvector's types `vector`, `halfvec` and `sparsevec` can be compared with a vector.",
  },
  severalVectorColumns: {
    status: 400,
    message: (table: string, names: string) =>
      `table "${table}" has multiple vector columns (${names}); specify vector_column explicitly`,
    help: 'Name one of them as `vector_column`.',
  },
  dimensionMismatch: {
    status: 400,
    message: (given: number, column: string, expected: number) =>
      `dimension mismatch: query vector has ${given} dimensions, column "${column}" expects ${expected}`,
    help: 'Send a vector made by the same model as the vectors of the column.',
  },
  semanticNotConfigured: {
    status: 400,
    message: 'semantic search is not configured — no embedding provider available',
    help: 'The operator configures an embedding provider with `ai.providers` and `ai.embedding_model`.',
  },
  semanticNeedsPgvector: {
    status: 400,
    message: 'semantic search requires the pgvector extension',
    help: 'The database has no extension `vector`.',
  },
  hybridNotConfigured: {
    status: 501,
    message: 'hybrid search is not configured — no embedding provider available',
    help: 'The operator configures an embedding provider with `ai.providers` and `ai.embedding_model`.',
  },
  hybridNeedsPgvector: {
    status: 400,
    message: 'hybrid search requires the pgvector extension',
    help: 'The database has no extension `vector`.',
  },
  semanticMisconfigured: {
    status: 500,
    message: (problem: string) => `semantic search misconfiguration: ${problem}`,
    help: '`ai.embedding_dimensions` of the model differs from the number of dimensions of the column.',
  },
  embeddingDimensionMismatch: {
    status: 500,
    message: (given: number, column: string, expected: number) =>
      `embedding dimension mismatch: the model has ${given} dimensions, column "${column}" expects ${expected}`,
    help: 'The vectors of the column were made by another model than the configured one.',
  },
  unsupportedFacet: {
    status: 400,
    message: (name: string, type: string) => `unsupported facet column "${name}" with type "${type}"`,
    help: 'Facets can be counted over columns of single comparable values, so not over JSON, arrays, vectors or geometries.',
  },
  unsupportedFacetSearch: {
    status: 400,
    message: (name: string, type: string) =>
      `facet value search requires a text column, but "${name}" has type "${type}"`,
    help: 'Only values of text columns can be searched.',
  },
  aggregateDisabled: {
    status: 403,
    message: 'aggregate queries are disabled',
    help: 'The operator has set `api.aggregate_enabled` to false.',
  },
  invalidAggregate: {
    status: 400,
    message: (problem: string) => `invalid aggregate: ${problem}`,
    help: 'The functions are `count`, `count_distinct`, `sum`, `avg`, `min`, `max`, `bbox` and `centroid`, such as `sum(total)`. The message says what is wrong.',
  },
  unknownAggregateColumn: {
    status: 400,
    message: (name: string) => `invalid aggregate: unknown column "${name}" in aggregate parameter`,
    help: 'The collection has no such column. Names are case-sensitive. Names with special characters go in double quotes.',
  },
  invalidGroup: {
    status: 400,
    message: (problem: string) => `invalid group: ${problem}`,
    help: 'Rows can be grouped by columns of comparable values. The message says what is wrong.',
  },
  unknownGroupColumn: {
    status: 400,
    message: (name: string) => `invalid group: unknown column "${name}" in group parameter`,
    help: 'The collection has no such column. Names are case-sensitive.',
  },
  exportLimit: {
    status: 429,
    message: 'too many exports at once by this caller',
    help: 'One caller may use half of `api.max_exports`. Wait for an export to end. `Retry-After` says when to try again.',
  },
  exportsBusy: {
    status: 503,
    message: 'too many exports at once',
    help: 'The number of running exports has reached `api.max_exports`. `Retry-After` says when to try again.',
  },
  invalidCursor: {
    status: 400,
    message: (problem: string) => `invalid cursor${problem === '' ? '' : `: ${problem}`}`,
    help: 'Send `nextCursor` of the previous page unchanged, with the same sort.',
  },
  cursorTooLong: {
    status: 400,
    message: 'cursor too long',
    help: 'Send `nextCursor` of the previous page unchanged. It has at most 4096 characters.',
  },
  emptyBody: {
    status: 400,
    message: 'empty request body',
    help: 'Send the record as a JSON object.',
  },
  bodyNotObject: {
    status: 400,
    message: 'invalid JSON body: expected an object',
    help: 'Send the record as a JSON object. Several records go to the batch endpoint.',
  },
  noRecognizedColumns: {
    status: 400,
    message: 'no recognized columns in request body',
    help: 'The body names no writable column.',
  },
  invalidBatch: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The batch, or the operation that the message names, has the wrong form.',
  },
  bulkLimitExceeded: {
    status: 409,
    message: (limit: number) => `the filter finds more than ${limit} records`,
    help: 'A GraphQL mutation would change more records than `api.bulk_max_rows`. Nothing was changed. Narrow the filter, or raise the limit.',
  },
  unexpectedCount: {
    status: 409,
    message: (expected: number, found: string) =>
      `expected ${expected} ${expected === 1 ? 'record' : 'records'}, but the filter finds ${found}; nothing was changed`,
    help: 'A write by filter gives the expected number of records as `expect`. `data.found` has the number of records that it would have changed. The field is absent when that number exceeds what one request may change.',
  },
  costlyQuery: {
    status: 409,
    message: 'the rows can only be found or sorted by reading much of the table',
    help: 'The planner expects the statement to cost more than `maxCost`; `data.cost` has the expected cost. Send the request without `maxCost` to run it.',
  },
  conflictHidden: {
    status: 409,
    message: 'another record has the same key, and the caller may not read it',
    help: 'With `onConflictAction=ignore` the response is the record that has the key. No policy lets the caller read that record, or it was just deleted.',
  },
  rowDiscarded: {
    status: 409,
    message: 'the database discarded the record: a trigger or rule of the table did not store it',
    help: 'A trigger or rule of the table discarded the insert.',
  },
  changeDiscarded: {
    status: 409,
    message: 'the database discarded the change: a trigger of the table kept the record as it was',
    help: 'The record exists, but a trigger before the update or delete returned NULL, so nothing was changed. If a trigger marks records as deleted instead of deleting them, change that column with `PATCH`. Callers that policies apply to get 404 `record_not_found`.',
  },
  invalidHookValues: {
    status: 500,
    message: (problem: string) => `a before hook has set values that cannot be written: ${problem}`,
    help: 'A `before` hook of the table has changed the values to write. They do not fit the table, as the message says. Nothing was written.',
  },
} as const

export const collectionErrors = defineErrors(collectionErrorTable)
