import { choice } from '../../../http/schemas.ts'
import { type TSchema, Type } from '../../../lib/type.ts'

/** Defines the parameters of the operations, for the API document. Formats name the grammars of `docs/guides/collections.md`. */

const text = (description: string, format?: string) =>
  Type.Optional(Type.String({ ...(format === undefined ? {} : { format }), description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const fieldsHelp = 'Comma-separated column names; without it, all.'
const expandHelp = 'Comma-separated relation names, nested by dots: `album.artist`.'

export const recordQuery = { fields: text(fieldsHelp, 'fields'), expand: text(expandHelp, 'expand') }

const filterHelp =
  "Conditions such as `milliseconds > 300000 AND (name ~ 'A%' OR album.artist_id IN (1, 2))`. Operators: `=`, `!=`, `>`, " +
  '`>=`, `<`, `<=`, `~` (LIKE), `~*` (ILIKE), `IN (…)`, `BETWEEN … AND …`, `IS NULL`, `CONTAINS`, `OVERLAPS`, `MATCHES`, ' +
  '`NOT`, `AND` or `&&`, `OR` or `||`, parentheses. Columns of related records by dots, values in `jsonb` by `->` and ' +
  "`->>`. Values: `'text'` (a quote inside is `''`), numbers, `true`, `false`, `null`. A column with an odd name goes in " +
  'double quotes.'

export const rowsQuery = {
  filter: text(filterHelp, 'filter'),
  search: text(
    'Words in the text columns, all of them; `"a phrase"`, `one or another`, `-excluded`. The best matches come first unless `sort` is given. At most `search.rank_limit` matches are ranked; `searchExhaustive` is false when there are more.',
  ),
  fuzzy: flag('`true` tolerates typos in `search`; needs the extension pg_trgm.'),
  typo_threshold: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'With `fuzzy=true`: trigram similarity that counts as a match. Default: 0.2.',
    }),
  ),
  near: text(
    '`column,lng,lat,distance`: at most this distance away, in metres for a geography, else in the units of the column.',
    'place',
  ),
  within: text('`column,{…}`: within this polygon or these polygons, as GeoJSON.', 'place'),
  intersects: text('`column,{…}`: touching this geometry, as GeoJSON.', 'place'),
  bbox: text('`column,minLng,minLat,maxLng,maxLat`: in this box.', 'place'),
}

export const sort = text(
  'Comma-separated columns; `-` sorts descending, and the primary key is appended. `album.artist.name` is a column of a related record, through relations to one record. `column.distance(lng,lat)` as the first term sorts the nearest first, and adds `_distance` to the records of a list.',
  'sort',
)

export const listQuery = Type.Object({
  ...rowsQuery,
  highlight: flag('`true` adds `_highlight` and `_highlightResult` to the records that `search` finds.'),
  sort,
  page: Type.Optional(
    Type.Integer({
      default: 1,
      maximum: 2_147_483_647,
      description: 'Page number from 1; lower values mean 1. Not with `cursor`.',
    }),
  ),
  perPage: Type.Optional(
    Type.Integer({ default: 20, description: 'At most 500. Values out of range are clamped.' }),
  ),
  skipTotal: flag('`true` leaves out the count.'),
  total: Type.Optional(
    choice(['estimated'], { description: "Uses the planner's estimate instead of a count." }),
  ),
  cursor: text('Empty for the first page, then `nextCursor` of the page before.', 'cursor'),
  ...recordQuery,
  facets: text('Comma-separated columns whose values are counted.', 'fields'),
  disjunctiveFacets: text(
    'Facets that are counted as if the filter did not choose among their values.',
    'fields',
  ),
  nearest: text(
    'A vector as a JSON array of numbers: the nearest records come first, with `_distance`.',
    'vector',
  ),
  semantic_query: text('A text instead of the vector of `nearest`.'),
  semantic: flag('`true` fuses the matches of `search` by words and by meaning.'),
  vector_column: text('Column to compare, where the table has several vectors.', 'fields'),
  distance: Type.Optional(choice(['cosine', 'l2', 'inner_product'], { description: 'Default: `cosine`.' })),
})

/** Returns a parameter as a member of a JSON object: the text of the URL, or an array of the listed values. */
function listed(parameter: TSchema) {
  const { description, format } = parameter as Annotations
  const item = Type.String({ format })
  return Type.Optional(Type.Union([item, Type.Array(item)], { description }))
}

/**
 * Returns a spatial condition as a member of a JSON object: the text of the URL, or an array that begins with the
 * column.
 */
function condition(parameter: TSchema) {
  const { description, format } = parameter as Annotations
  const parts = Type.Array(Type.Unknown(), { format, minItems: 2 })
  return Type.Optional(Type.Union([Type.String({ format }), parts], { description }))
}

/** Members of the texts above that their types do not expose. */
interface Annotations {
  readonly description: string
  readonly format: string
}

const rowsBody = {
  ...rowsQuery,
  near: condition(rowsQuery.near),
  within: condition(rowsQuery.within),
  intersects: condition(rowsQuery.intersects),
  bbox: condition(rowsQuery.bbox),
}

const { properties: list } = listQuery

/** Parameters of a list as members of a JSON object. */
export const listBody = Type.Object({
  ...list,
  ...rowsBody,
  fields: listed(list.fields),
  expand: listed(list.expand),
  sort: listed(list.sort),
  facets: listed(list.facets),
  disjunctiveFacets: listed(list.disjunctiveFacets),
  nearest: Type.Optional(
    Type.Union([Type.Array(Type.Number()), Type.String({ format: 'vector' })], {
      description: 'A vector. The nearest records come first, with `_distance`.',
    }),
  ),
})

const aggregateTerm = Type.String({ format: 'aggregate', minLength: 1 })

/** Aggregate over the rows that match filter and search. */
export const aggregateBody = Type.Object({
  ...rowsBody,
  aggregate: Type.Union([aggregateTerm, Type.Array(aggregateTerm, { minItems: 1 })], {
    description:
      '`count`, `count(c)`, `count_distinct(c)`, `sum(c)`, `avg(c)`, `min(c)`, `max(c)`, `bbox(c)` or `centroid(c)` of a column.',
  }),
  group: listed(text('Columns to group by, at most ten.', 'fields')),
  groupSort: listed(
    text('Columns of the group or keys of results; `-` before one sorts descending.', 'sort'),
  ),
  groupLimit: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Maximum number of groups returned; needs `group`.' }),
  ),
})

export const createQuery = Type.Object({
  onConflict: text(
    'Comma-separated columns of a unique key: a record that has the same key is updated.',
    'fields',
  ),
  onConflictAction: Type.Optional(
    choice(['update', 'ignore'], {
      default: 'update',
      description: 'With `onConflict`: `ignore` returns the existing record unchanged.',
    }),
  ),
  ...recordQuery,
})

export const bulkQuery = Type.Object({
  filter: Type.String({ format: 'filter', description: `Records to write. ${filterHelp}` }),
  expect: Type.Integer({
    minimum: 0,
    description:
      'Number of records that the filter matches, at most `api.bulk_max_rows`. If the filter matches another number, nothing is written.',
  }),
  return: Type.Optional(
    choice(['count', 'records'], { default: 'count', description: '`records` returns them as `items`.' }),
  ),
  fields: text(`${fieldsHelp} Needs \`return=records\`.`, 'fields'),
  expand: text(`${expandHelp} Needs \`return=records\`.`, 'expand'),
})

export const facetSearchQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 1000, description: 'Prefix of the values, case-insensitive.' })),
  maxFacetHits: Type.Optional(Type.Integer({ default: 10, minimum: 1, maximum: 100 })),
  ...rowsQuery,
})
