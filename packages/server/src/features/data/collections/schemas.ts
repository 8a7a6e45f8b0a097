import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/**
 * Schemas for the API document. They only describe. The collections validate by themselves, because what is valid
 * depends on the table.
 */

export const TableRecord = component(
  'TableRecord',
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The columns of the table. With `expand`, related records are under `expand`.',
    },
  ),
)

const FacetCounts = component(
  'FacetCounts',
  Type.Record(
    Type.String(),
    Type.Array(component('FacetCount', Type.Object({ value: Type.Unknown(), count: Type.Integer() }))),
    { description: 'With `facets`: the values of each column, most frequent first.' },
  ),
)

const FacetRanges = component(
  'FacetRanges',
  Type.Record(
    Type.String(),
    component('FacetRange', Type.Object({ min: Type.Number(), max: Type.Number() })),
    { description: 'Present for numeric facets.' },
  ),
)

export const RecordPage = component(
  'RecordPage',
  Type.Object({
    items: Type.Array(TableRecord),
    perPage: Type.Integer(),
    page: Type.Optional(Type.Integer({ description: 'Absent with `cursor`, as are the totals.' })),
    totalItems: Type.Optional(Type.Integer({ description: '-1 with `skipTotal=true`.' })),
    totalPages: Type.Optional(Type.Integer({ description: '-1 with `skipTotal=true`.' })),
    nextCursor: Type.Optional(
      Type.String({ description: 'Cursor of the next page, with `cursor`. Absent on the last page.' }),
    ),
    searchExhaustive: Type.Optional(
      Type.Literal(false, {
        description:
          'Number of matches that were ranked, in a search by rank with more matches than `search.rank_limit`. Totals and pages cover only these.',
      }),
    ),
    facets: Type.Optional(FacetCounts),
    facetStats: Type.Optional(FacetRanges),
    facetsExhaustive: Type.Optional(
      Type.Record(Type.String(), Type.Boolean(), {
        description: 'Facets that have more values than `api.max_facet_buckets`, each with `false`.',
      }),
    ),
  }),
)
