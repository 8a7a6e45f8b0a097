import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const status = {
  collection: Type.String(),
  isEnabled: nullable(Type.Boolean(), { description: 'State that was last requested; null if none.' }),
  isIndexed: Type.Boolean({ description: 'True if every search has an index.' }),
  indexes: Type.Array(
    component(
      'SearchIndex',
      Type.Object({
        name: Type.String(),
        kind: Type.Enum(['words', 'trigrams'], { description: '`trigrams` supports fuzzy searches.' }),
        state: Type.Enum(['valid', 'building', 'invalid'], {
          description: '`invalid` after an interrupted build.',
        }),
        sizeBytes: Type.Integer(),
        progress: nullable(Type.Number(), { description: 'Progress from 0 to 1 during a build.' }),
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
  advice: nullable(Type.String(), { description: 'Command that would help.' }),
}

/** Search indexes of one collection. */
export const IndexStatus = component('SearchIndexStatus', Type.Object(status))
export type IndexStatus = Answered<typeof IndexStatus>

/** Search indexes of one collection after they were built or dropped. */
export const SearchChange = component(
  'SearchChange',
  Type.Object({
    ...status,
    built: Type.Array(Type.String(), { description: 'Indexes built by this request.' }),
    dropped: Type.Array(Type.String()),
    durationMs: Type.Integer(),
  }),
)
export type SearchChange = Answered<typeof SearchChange>

/** Search of one collection: its indexes, the available columns, and the input of an index. */
export const SearchDescription = component(
  'SearchDescription',
  Type.Object({
    ...status,
    obstacle: nullable(Type.String(), { description: 'Reason why it cannot have an index.' }),
    textSearchConfig: Type.String({
      description: 'Text search configuration, which decides which words have the same stem.',
    }),
    hasTrigrams: Type.Boolean({ description: 'True if pg_trgm is installed, which `fuzzy` needs.' }),
    columns: Type.Array(
      Type.Object({
        name: Type.String(),
        isSearchable: Type.Boolean(),
        isRankable: Type.Boolean({ description: 'True if `customRanking` can name the column.' }),
      }),
    ),
    source: Type.Object({
      estimatedRows: nullable(Type.Number(), { description: 'Estimate of the planner.' }),
      tableBytes: Type.Number(),
      textBytes: nullable(Type.Number(), {
        description: 'Size of the searchable columns; null before the first `analyze`.',
      }),
    }),
  }),
)
