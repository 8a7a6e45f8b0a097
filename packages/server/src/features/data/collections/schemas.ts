import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Shapes for the API document. They describe; the collections themselves check, because what is right depends on the table. */

export const TableRecord = component(
  'TableRecord',
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The columns of the table; with `expand`, related records under `expand`.',
    },
  ),
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

const RecordOffsetPage = component(
  'RecordPage',
  Type.Object({
    page: Type.Integer(),
    perPage: Type.Integer(),
    totalItems: Type.Integer({ description: '-1 with skipTotal=true' }),
    totalPages: Type.Integer({ description: '-1 with skipTotal=true' }),
    items: Type.Array(TableRecord),
    searchExhaustive,
    ...facetMembers,
  }),
)

const RecordCursorPage = component(
  'RecordCursorPage',
  Type.Object({
    perPage: Type.Integer(),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
    items: Type.Array(TableRecord),
    searchExhaustive,
    ...facetMembers,
  }),
)

const AggregateResults = component(
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

export const RecordPage = Type.Union([RecordOffsetPage, RecordCursorPage, AggregateResults])
