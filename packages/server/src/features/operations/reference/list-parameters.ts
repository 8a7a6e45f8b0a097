import type { Column } from '../../../database/catalog/model.ts'

const text = { type: 'string' }
const flag = { type: 'boolean' }

/** Parameters of lists for which a table needs columns of a kind, and what is counted and computed over its rows. */
export const listParameters = {
  search: query(
    'search',
    text,
    'Words in the text columns, all of them; `"a phrase"`, `one or another`, `-excluded`. The best come first unless `sort` is given. Of more matches than `search.rank_limit` that many are ranked, which `searchExhaustive` says.',
  ),
  fuzzy: query('fuzzy', flag, '`true` tolerates typos in `search`; needs the extension pg_trgm.'),
  typo_threshold: query(
    'typo_threshold',
    { type: 'number', minimum: 0, maximum: 1 },
    'With `fuzzy=true`: trigram similarity that counts as a match.',
  ),
  highlight: query(
    'highlight',
    flag,
    '`true` adds `_highlight` and `_highlightResult` to what `search` finds.',
  ),
  near: query(
    'near',
    text,
    '`column,lng,lat,distance`: no farther than that, in metres for a geography, else in the units of the column. `sort=column.distance(lng,lat)` shows the nearest first.',
  ),
  within: query('within', text, '`column,{…}`: within this Polygon or MultiPolygon, as GeoJSON.'),
  intersects: query('intersects', text, '`column,{…}`: touching this geometry, as GeoJSON.'),
  bbox: query('bbox', text, '`column,minLng,minLat,maxLng,maxLat`: in this box.'),
  nearest: query(
    'nearest',
    text,
    'A vector as a JSON array of numbers: the nearest records come first, with `_distance`.',
  ),
  semantic_query: query('semantic_query', text, 'A text in place of the vector of `nearest`.'),
  semantic: query('semantic', flag, '`true` fuses what `search` finds by words and by meaning.'),
  vector_column: query('vector_column', text, 'What is compared, where the table has several vectors.'),
  distance: query('distance', { ...text, enum: ['cosine', 'l2', 'inner_product'] }),
  facets: query('facets', text, 'Comma-separated columns whose values are counted.'),
  disjunctiveFacets: query(
    'disjunctiveFacets',
    text,
    'Those of them that are counted as if the filter did not choose among their values.',
  ),
  aggregate: query(
    'aggregate',
    text,
    'Comma-separated functions, such as `count,sum(total)`; the answer has `results` in place of `items`.',
  ),
  group: query('group', text, 'Comma-separated columns to group an aggregate by.'),
  groupSort: query(
    'groupSort',
    text,
    'Comma-separated columns of the group or keys of results; `-` before one sorts descending.',
  ),
  groupLimit: query('groupLimit', { type: 'integer', minimum: 1 }, 'Groups answered at most.'),
} as const

type Name = keyof typeof listParameters

const ofText: readonly Name[] = ['search', 'fuzzy', 'typo_threshold', 'highlight']
const ofPlaces: readonly Name[] = ['near', 'within', 'intersects', 'bbox']
const ofVectors: readonly Name[] = ['nearest', 'semantic_query', 'vector_column', 'distance']
const ofAll: readonly Name[] = [
  ...(['facets', 'disjunctiveFacets'] as const),
  ...(['aggregate', 'group', 'groupSort', 'groupLimit'] as const),
]

/** The parameters that lists of a table with these columns take. */
export function listParametersOf(columns: readonly Column[]): readonly Name[] {
  const has = (test: (type: Column['type']) => boolean) => columns.some(({ type }) => test(type))
  const hasText = has(({ isText }) => isText)
  const hasVectors = has(({ vectorSchema }) => vectorSchema !== undefined)
  return [
    ...(hasText ? ofText : []),
    ...(has(({ spatialSchema }) => spatialSchema !== undefined) ? ofPlaces : []),
    ...(hasVectors ? ofVectors : []),
    ...(hasVectors && hasText ? (['semantic'] as const) : []),
    ...ofAll,
  ]
}

function query(name: string, schema: object, description?: string): object {
  return { name, in: 'query', ...(description === undefined ? {} : { description }), schema }
}
