import { bearerSecurity, component, noContent, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { idempotencyHeaders } from '../idempotency/index.ts'
import {
  bulkQuery,
  createQuery,
  facetSearchQuery,
  listBody,
  listQuery,
  recordQuery,
} from './query-schemas.ts'

/**
 * Shapes for the API document. They describe; the collections themselves check, because what is right depends on
 * the table.
 */

export const record = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'The columns of the table; with `expand`, related records under `expand`.',
  },
)

const facetMembers = {
  facets: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.Object({ value: Type.Unknown(), count: Type.Integer() })), {
      description: 'With `facets`: by column its values, most frequent first.',
    }),
  ),
  facetStats: Type.Optional(
    Type.Record(Type.String(), Type.Object({ min: Type.Number(), max: Type.Number() }), {
      description: 'Of numeric facets.',
    }),
  ),
  facetsExhaustive: Type.Optional(
    Type.Record(Type.String(), Type.Boolean(), {
      description: 'The facets that have more values than `api.max_facet_buckets`, each with `false`.',
    }),
  ),
}

const searchExhaustive = Type.Optional(
  Type.Literal(false, {
    description:
      'Of a search by rank with more matches than `search.rank_limit`: so many were ranked, and the totals and pages are of these.',
  }),
)

const page = component(
  'RecordPage',
  Type.Object({
    page: Type.Integer(),
    perPage: Type.Integer(),
    totalItems: Type.Integer({ description: '-1 with skipTotal=true' }),
    totalPages: Type.Integer({ description: '-1 with skipTotal=true' }),
    items: Type.Array(record),
    searchExhaustive,
    ...facetMembers,
  }),
)

const cursorPage = component(
  'RecordCursorPage',
  Type.Object({
    perPage: Type.Integer(),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
    items: Type.Array(record),
    searchExhaustive,
    ...facetMembers,
  }),
)

const aggregateResults = component(
  'AggregateResults',
  Type.Object({
    results: Type.Array(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'Columns of the group, and `count`, `sum_total` and the like.',
        },
      ),
    ),
    exhaustive: Type.Optional(
      Type.Boolean({
        description: '`false` when there are more groups than `groupLimit` or `api.max_groups`.',
      }),
    ),
  }),
)

const operation = component(
  'BatchOperation',
  Type.Object({
    method: Type.String({ description: 'create, update or delete' }),
    id: Type.Optional(Type.Unknown({ description: 'String or number; for update and delete.' })),
    body: Type.Optional(record),
    onConflict: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description: 'Of a create: the columns of a unique key; a record that has the same key is updated.',
      }),
    ),
    onConflictAction: Type.Optional(Type.String({ enum: ['update', 'ignore'] })),
  }),
)

const operationAcross = component(
  'BatchOperationAcross',
  Type.Object({
    table: Type.String({ description: 'The collection of this operation.' }),
    ...operation.properties,
  }),
)

const results = Type.Array(
  Type.Object({
    index: Type.Integer(),
    status: Type.Integer({
      description: '201 create, 200 update, or a create that found its key, 204 delete',
    }),
    body: Type.Optional(record),
  }),
)

export const tableParams = Type.Object({
  table: Type.String({ description: 'A table or view; outside `public` as `schema.table`.' }),
})

const recordParams = Type.Object({
  ...tableParams.properties,
  id: Type.String({ description: 'The primary key; the values of a composite key joined by commas.' }),
})

export const common = { tags: ['collections'], security: bearerSecurity }

/** Of routes that change something. */
const writing = { ...common, headers: Type.Object(idempotencyHeaders) }

export const routeSchemas = {
  list: {
    ...common,
    summary: 'List records',
    params: tableParams,
    querystring: listQuery,
    response: responses({ 200: Type.Union([page, cursorPage, aggregateResults]) }),
  },
  query: {
    ...common,
    summary: 'List records, with the parameters in the body',
    params: tableParams,
    body: listBody,
    response: responses({ 200: Type.Union([page, cursorPage, aggregateResults]) }),
  },
  searchFacet: {
    ...common,
    summary: 'Search the values of a text column',
    params: Type.Object({ ...tableParams.properties, column: Type.String() }),
    querystring: facetSearchQuery,
    response: responses({
      200: Type.Object({
        facetHits: Type.Array(
          Type.Object({
            value: Type.String(),
            highlighted: Type.String({ description: 'HTML; what was searched for in `<mark>`.' }),
            count: Type.Integer(),
          }),
        ),
        exhaustiveFacetsCount: Type.Boolean({ description: 'Whether no further value begins so.' }),
      }),
    }),
  },
  create: {
    ...writing,
    summary: 'Create a record, or update the one with its key',
    params: tableParams,
    querystring: createQuery,
    body: record,
    response: responses({ 200: record, 201: record }),
  },
  updateAll: {
    ...writing,
    summary: 'Change the given fields of all records that a filter finds',
    params: tableParams,
    querystring: bulkQuery,
    body: record,
    response: responses({
      200: Type.Object({ updated: Type.Integer(), items: Type.Optional(Type.Array(record)) }),
    }),
  },
  removeAll: {
    ...writing,
    summary: 'Delete all records that a filter finds',
    params: tableParams,
    querystring: bulkQuery,
    response: responses({
      200: Type.Object({ deleted: Type.Integer(), items: Type.Optional(Type.Array(record)) }),
    }),
  },
  get: {
    ...common,
    summary: 'Get a record',
    params: recordParams,
    querystring: Type.Object(recordQuery),
    response: responses({ 200: record }),
  },
  update: {
    ...writing,
    summary: 'Change the given fields of a record',
    params: recordParams,
    querystring: Type.Object(recordQuery),
    body: record,
    response: responses({ 200: record }),
  },
  remove: {
    ...writing,
    summary: 'Delete a record',
    params: recordParams,
    response: responses({ 204: noContent }),
  },
  batch: {
    ...writing,
    summary: 'Run up to 1000 operations on one table in one transaction',
    params: tableParams,
    body: Type.Object({ operations: Type.Array(operation, { maxItems: 1000 }) }),
    response: responses({ 200: results }),
  },
  batchAcross: {
    ...writing,
    summary: 'Run up to 1000 operations on several tables in one transaction',
    body: Type.Object({ operations: Type.Array(operationAcross, { maxItems: 1000 }) }),
    response: responses({ 200: results }),
  },
}
