import { Type } from '../../../lib/type.ts'

/** Parameters of the routes, for the API document. */

export const recordQuery = {
  fields: Type.Optional(Type.String({ description: 'Comma-separated column names; without it, all.' })),
  expand: Type.Optional(
    Type.String({ description: 'Comma-separated relation names, nested by dots: `album.artist`.' }),
  ),
}

export const rowsQuery = {
  filter: Type.Optional(
    Type.String({ description: "Such as `milliseconds > 300000 AND (name ~ 'A%' OR genre_id IN (1, 2))`." }),
  ),
  search: Type.Optional(
    Type.String({
      description:
        'Words in the text columns, all of them; `"a phrase"`, `one or another`, `-excluded`. The best come first unless `sort` is given. Of more matches than `search.rank_limit` that many are ranked, which `searchExhaustive` says.',
    }),
  ),
  fuzzy: Type.Optional(Type.Boolean({ description: '`true` tolerates typos; needs the extension pg_trgm.' })),
  typo_threshold: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'With `fuzzy=true`: trigram similarity that counts as a match; 0.2 unless given.',
    }),
  ),
  near: Type.Optional(
    Type.String({
      description:
        '`column,lng,lat,distance`: no farther than that, in metres for a geography, else in the units of the column.',
    }),
  ),
  within: Type.Optional(
    Type.String({ description: '`column,{…}`: within this polygon or these polygons, as GeoJSON.' }),
  ),
  intersects: Type.Optional(
    Type.String({ description: '`column,{…}`: touching this geometry, as GeoJSON.' }),
  ),
  bbox: Type.Optional(Type.String({ description: '`column,minLng,minLat,maxLng,maxLat`: in this box.' })),
}

export const sort = Type.Optional(
  Type.String({
    description:
      'Comma-separated columns; `-` sorts descending. First perhaps `column.distance(lng,lat)`, nearest first.',
  }),
)

const vectorQuery = {
  nearest: Type.Optional(
    Type.String({
      description: 'A vector as a JSON array of numbers: the nearest records come first, with `_distance`.',
    }),
  ),
  semantic_query: Type.Optional(Type.String({ description: 'A text in place of the vector of `nearest`.' })),
  semantic: Type.Optional(
    Type.Boolean({ description: '`true` fuses what `search` finds by words and by meaning.' }),
  ),
  vector_column: Type.Optional(
    Type.String({ description: 'What is compared, where the table has several vectors.' }),
  ),
  distance: Type.Optional(
    Type.String({ enum: ['cosine', 'l2', 'inner_product'], description: 'cosine unless given.' }),
  ),
}

export const listQuery = Type.Object({
  ...rowsQuery,
  highlight: Type.Optional(
    Type.Boolean({ description: '`true` adds `_highlight` and `_highlightResult` to what was found.' }),
  ),
  sort: Type.Optional(
    Type.String({
      description:
        'Comma-separated columns; `-` sorts descending. First perhaps `column.distance(lng,lat)`, nearest first, which adds `_distance`.',
    }),
  ),
  page: Type.Optional(Type.Integer({ default: 1 })),
  perPage: Type.Optional(
    Type.Integer({ default: 20, description: 'At most 500; what is out of bounds is brought within them.' }),
  ),
  skipTotal: Type.Optional(Type.Boolean({ description: '`true` leaves out the count.' })),
  total: Type.Optional(Type.String({ description: "`estimated` answers the planner's estimate." })),
  cursor: Type.Optional(
    Type.String({ description: 'Empty for the first page, then `nextCursor` of the page before.' }),
  ),
  ...recordQuery,
  facets: Type.Optional(Type.String({ description: 'Comma-separated columns whose values are counted.' })),
  disjunctiveFacets: Type.Optional(
    Type.String({
      description: 'Those of them that are counted as if the filter did not choose among their values.',
    }),
  ),
  aggregate: Type.Optional(
    Type.String({
      description:
        'Comma-separated functions, such as `count,sum(total)`; the answer has `results` in place of items.',
    }),
  ),
  group: Type.Optional(Type.String({ description: 'Comma-separated columns to group an aggregate by.' })),
  groupSort: Type.Optional(
    Type.String({
      description: 'Comma-separated columns of the group or keys of results; `-` sorts descending.',
    }),
  ),
  groupLimit: Type.Optional(Type.Integer({ minimum: 1, description: 'Groups answered at most.' })),
  ...vectorQuery,
})

const names = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))
const place = Type.Optional(
  Type.Union([Type.String(), Type.Array(Type.Unknown(), { description: 'The column first.' })]),
)

/** The same as members of a JSON object. */
export const listBody = Type.Object({
  ...listQuery.properties,
  ...{ fields: names, expand: names, sort: names, facets: names, disjunctiveFacets: names },
  ...{ aggregate: names, group: names, groupSort: names },
  ...{ near: place, within: place, intersects: place, bbox: place },
  nearest: Type.Optional(
    Type.Union([Type.Array(Type.Number()), Type.String()], {
      description: 'A vector: the nearest records come first, with `_distance`.',
    }),
  ),
})

export const createQuery = Type.Object({
  onConflict: Type.Optional(
    Type.String({
      description: 'Comma-separated columns of a unique key: a record that has the same key is updated.',
    }),
  ),
  onConflictAction: Type.Optional(
    Type.String({
      enum: ['update', 'ignore'],
      description: '`update` unless given; `ignore` answers that record as it is.',
    }),
  ),
  ...recordQuery,
})

export const bulkQuery = Type.Object({
  filter: Type.String({ description: 'Which records to write; as in a list.' }),
  expect: Type.Integer({
    minimum: 0,
    description: 'How many records the filter finds. Are they more or fewer, nothing is written.',
  }),
  return: Type.Optional(
    Type.String({
      enum: ['count', 'records'],
      default: 'count',
      description: '`records` answers them as `items`.',
    }),
  ),
  ...recordQuery,
})

export const facetSearchQuery = Type.Object({
  q: Type.Optional(Type.String({ description: 'What values begin with, whatever their case.' })),
  maxFacetHits: Type.Optional(Type.Integer({ default: 10, minimum: 1, maximum: 100 })),
  ...rowsQuery,
})
