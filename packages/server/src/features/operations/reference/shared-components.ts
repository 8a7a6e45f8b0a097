import { listParameters } from './list-parameters.ts'

/** Parts of the document that all collections refer to. */

const integer = { type: 'integer' }

const searchExhaustive = {
  const: false,
  description:
    'Of a search by rank with more matches than `search.rank_limit`: so many were ranked, and the totals and pages are of these.',
} as const

const counted = {
  facets: {
    type: 'object',
    description: 'With `facets`: by column its values, most frequent first.',
    additionalProperties: {
      type: 'array',
      items: { type: 'object', required: ['value', 'count'], properties: { value: {}, count: integer } },
    },
  },
  facetStats: { type: 'object', description: 'Of numeric facets: `min` and `max`.' },
  facetsExhaustive: {
    type: 'object',
    description: 'The facets that have more values than are answered, each with `false`.',
  },
} as const

export const sharedSchemas = {
  Page: {
    type: 'object',
    required: ['page', 'perPage', 'totalItems', 'totalPages', 'items'],
    properties: {
      page: integer,
      perPage: integer,
      totalItems: { ...integer, description: '-1 with `skipTotal=true`.' },
      totalPages: { ...integer, description: '-1 with `skipTotal=true`.' },
      items: { type: 'array', items: {} },
      searchExhaustive,
      ...counted,
    },
  },
  CursorPage: {
    type: 'object',
    description: 'The answer to a request with `cursor`.',
    required: ['perPage', 'items'],
    properties: {
      perPage: integer,
      nextCursor: { type: 'string', description: 'Absent on the last page.' },
      items: { type: 'array', items: {} },
      searchExhaustive,
      ...counted,
    },
  },
  AggregateResults: {
    type: 'object',
    description: 'The answer to a request with `aggregate`.',
    required: ['results'],
    properties: {
      results: { type: 'array', items: { type: 'object' } },
      exhaustive: { type: 'boolean', description: '`false` when there are more groups.' },
    },
  },
  BatchResults: {
    type: 'array',
    items: {
      type: 'object',
      required: ['index', 'status'],
      properties: {
        index: integer,
        status: { ...integer, description: '201 create, 200 update, 204 delete' },
        body: { type: 'object', description: 'The record; absent for delete.' },
      },
    },
  },
} as const

const filterHelp =
  "Conditions such as `price > 9.90 AND (name ~ 'A%' OR author.id IN (1, 2))`. Operators: `=`, `!=`, `>`, `>=`, `<`, " +
  '`<=`, `~` (LIKE), `~*` (ILIKE), `IN (…)`, `BETWEEN … AND …`, `IS NULL`, `CONTAINS`, `OVERLAPS`, `MATCHES`, ' +
  '`NOT`, `AND` or `&&`, `OR` or `||`, parentheses. Columns of related records by dots, values in `jsonb` by `->` ' +
  "and `->>`. Values: `'text'` (a quote inside is `''`), numbers, `true`, `false`, `null`. A column with an odd name " +
  'goes in double quotes.'

export const sharedParameters = {
  ...listParameters,
  filter: query('filter', { type: 'string' }, filterHelp),
  writtenFilter: query('filter', { type: 'string' }, filterHelp, { required: true }),
  expect: query(
    'expect',
    { type: 'integer', minimum: 0 },
    'How many records the filter finds. Are they more or fewer, nothing is written.',
    { required: true },
  ),
  return: query(
    'return',
    { type: 'string', enum: ['count', 'records'], default: 'count' },
    '`records` answers them as `items`.',
  ),
  onConflict: query(
    'onConflict',
    { type: 'string' },
    'Comma-separated columns of a unique key: a record that has the same key is updated.',
  ),
  onConflictAction: query(
    'onConflictAction',
    { type: 'string', enum: ['update', 'ignore'], default: 'update' },
    '`ignore` answers that record as it is.',
  ),
  sort: query(
    'sort',
    { type: 'string' },
    'Comma-separated columns; `-` before one sorts descending. The primary key is appended.',
  ),
  page: query('page', { type: 'integer', default: 1 }, 'From 1; less is 1.'),
  perPage: query(
    'perPage',
    { type: 'integer', default: 20 },
    'At most 500; what is out of bounds is brought within them.',
  ),
  cursor: query(
    'cursor',
    { type: 'string' },
    'Keyset paging: empty for the first page, then `nextCursor` of the page before. Not together with `page`.',
    // A page that tries requests out would otherwise leave the empty value of the first page out.
    { allowEmptyValue: true },
  ),
  skipTotal: query('skipTotal', { type: 'boolean' }, '`true` leaves out the count.'),
  total: query(
    'total',
    { type: 'string', enum: ['estimated'] },
    "`estimated` answers the planner's estimate instead of a count.",
  ),
  fields: query(
    'fields',
    { type: 'string' },
    'Comma-separated columns; records then have only these. Without it, all.',
  ),
} as const

function query(name: string, schema: object, description?: string, more: object = {}): object {
  return { name, in: 'query', ...(description === undefined ? {} : { description }), ...more, schema }
}
