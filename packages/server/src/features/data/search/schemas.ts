import { bearerSecurity, component, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const common = { tags: ['search'], security: bearerSecurity }

const params = Type.Object({
  table: Type.String({ description: 'A table or view; outside `public` as `schema.table`.' }),
})

const weight = Type.String({ description: '`high`, `medium`, `low` or `lowest`.' })
const order = Type.String({ description: '`asc` or `desc`.' })

const settings = component(
  'SearchSettings',
  Type.Object({
    attributes: Type.Array(
      Type.Object({ column: Type.String(), weight: Type.Enum(['high', 'medium', 'low', 'lowest']) }),
    ),
    customRanking: Type.Array(Type.Object({ column: Type.String(), order: Type.Enum(['asc', 'desc']) })),
  }),
)

/** Form and messages are those of the columns; checked by hand. */
const givenSettings = Type.Object({
  attributes: Type.Optional(
    Type.Array(Type.Object({ column: Type.Optional(Type.String()), weight: Type.Optional(weight) }), {
      description: 'At most 32. Text columns that are not named weigh least.',
    }),
  ),
  customRanking: Type.Optional(
    Type.Array(Type.Object({ column: Type.Optional(Type.String()), order: Type.Optional(order) }), {
      description: 'At most 32 columns that sort records of the same rank.',
    }),
  ),
})

const synonyms = component(
  'SearchSynonyms',
  Type.Object({ groups: Type.Array(Type.Object({ terms: Type.Array(Type.String()) })) }),
)

const givenSynonyms = Type.Object({
  groups: requiredByHandler(
    Type.Array(Type.Object({ terms: Type.Optional(Type.Array(Type.String())) }), {
      description: 'Empty removes all. Groups of 2 to 8 terms, each of at most 128 characters.',
    }),
  ),
})

const indexState = component(
  'SearchIndex',
  Type.Object({
    name: Type.String(),
    kind: Type.String({ description: '`words`, or `trigrams` for fuzzy searches.' }),
    state: Type.String({ description: '`valid`, `building`, or `invalid` after a build was cut off.' }),
    sizeBytes: Type.Integer(),
    progress: Type.Union([Type.Number(), Type.Null()], { description: 'From 0 to 1 while it is built.' }),
  }),
)

const status = {
  collection: Type.String(),
  isEnabled: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'What was asked for last; null: nothing yet.',
  }),
  isIndexed: Type.Boolean({ description: 'Whether every search has an index.' }),
  indexes: Type.Array(indexState),
  lastBuild: Type.Union([
    Type.Object({
      at: Type.String({ description: 'RFC 3339, UTC.' }),
      durationMs: Type.Union([Type.Integer(), Type.Null()]),
      error: Type.Union([Type.String(), Type.Null()]),
    }),
    Type.Null(),
  ]),
  advice: Type.Union([Type.String(), Type.Null()], { description: 'The command that would help.' }),
}

const changed = component(
  'SearchChange',
  Type.Object({
    ...status,
    built: Type.Array(Type.String(), { description: 'Indexes made by this request.' }),
    dropped: Type.Array(Type.String()),
    durationMs: Type.Integer(),
  }),
)

export const routeSchemas = {
  getSettings: {
    ...common,
    summary: 'What of a collection is searched, and how it ranks',
    params,
    response: responses({ 200: settings }),
  },
  replaceSettings: {
    ...common,
    summary: 'Replace weights and ranking',
    description: 'In force on every node within a second; search indexes are built anew by a job.',
    params,
    body: givenSettings,
    response: responses({ 200: settings }),
  },
  getSynonyms: {
    ...common,
    summary: 'The synonyms of a collection',
    params,
    response: responses({ 200: synonyms }),
  },
  replaceSynonyms: {
    ...common,
    summary: 'Replace the synonyms',
    description: 'In force on every node within a second.',
    params,
    body: givenSynonyms,
    response: responses({ 200: synonyms }),
  },
  list: {
    ...common,
    summary: 'The search indexes, and what would help',
    response: responses({ 200: Type.Object({ items: Type.Array(Type.Object(status)) }) }),
  },
  describe: {
    ...common,
    summary: 'How one collection is searched, and what its indexes would read',
    params,
    response: responses({
      200: Type.Object({
        ...status,
        obstacle: Type.Union([Type.String(), Type.Null()], { description: 'Why it can have no index.' }),
        textSearchConfig: Type.String({ description: 'Says which words have the same stem.' }),
        hasTrigrams: Type.Boolean({ description: 'Whether pg_trgm is there, which `fuzzy` needs.' }),
        columns: Type.Array(
          Type.Object({
            name: Type.String(),
            isSearchable: Type.Boolean(),
            isRankable: Type.Boolean({ description: 'Whether `customRanking` can name it.' }),
          }),
        ),
        source: Type.Object({
          estimatedRows: Type.Union([Type.Number(), Type.Null()], {
            description: 'As the planner believes.',
          }),
          tableBytes: Type.Number(),
          textBytes: Type.Union([Type.Number(), Type.Null()], {
            description: 'Of the searchable columns; null before the first `analyze`.',
          }),
        }),
      }),
    }),
  },
  enable: {
    ...common,
    summary: 'Make the search indexes of a collection',
    description:
      'Without keeping readers and writers from it. Answers when it is done; continues when the caller does not wait for that.',
    params,
    response: responses({ 200: changed }),
  },
  disable: {
    ...common,
    summary: 'Drop the search indexes of a collection',
    params,
    response: responses({ 200: changed }),
  },
}
