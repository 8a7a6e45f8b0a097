import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const status = {
  collection: Type.String(),
  isEnabled: nullable(Type.Boolean(), { description: 'State that was last requested; null: none yet.' }),
  isIndexed: Type.Boolean({ description: 'Whether every search has an index.' }),
  indexes: Type.Array(
    component(
      'SearchIndex',
      Type.Object({
        name: Type.String(),
        kind: Type.Enum(['words', 'trigrams'], { description: '`trigrams` serves fuzzy searches.' }),
        state: Type.Enum(['valid', 'building', 'invalid'], {
          description: '`invalid` after a build was cut off.',
        }),
        sizeBytes: Type.Integer(),
        progress: nullable(Type.Number(), { description: 'From 0 to 1 while it is built.' }),
      }),
    ),
  ),
  lastBuild: nullable(
    Type.Object({
      at: timestamp,
      durationMs: nullable(Type.Integer()),
      error: nullable(Type.String()),
    }),
  ),
  advice: nullable(Type.String(), { description: 'The command that would help.' }),
}

/** Search indexes of one collection. */
export const IndexStatus = component('SearchIndexStatus', Type.Object(status))
export type IndexStatus = Answered<typeof IndexStatus>

/** Search indexes of one collection after they were made or dropped. */
export const SearchChange = component(
  'SearchChange',
  Type.Object({
    ...status,
    built: Type.Array(Type.String(), { description: 'Indexes made by this request.' }),
    dropped: Type.Array(Type.String()),
    durationMs: Type.Integer(),
  }),
)
export type SearchChange = Answered<typeof SearchChange>

/** Search of one collection: its indexes, the columns to choose from, and what an index would read. */
export const SearchDescription = component(
  'SearchDescription',
  Type.Object({
    ...status,
    obstacle: nullable(Type.String(), { description: 'Why it can have no index.' }),
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
      estimatedRows: nullable(Type.Number(), { description: 'As the planner believes.' }),
      tableBytes: Type.Number(),
      textBytes: nullable(Type.Number(), {
        description: 'Of the searchable columns; null before the first `analyze`.',
      }),
    }),
  }),
)
