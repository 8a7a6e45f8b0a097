import { table } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

const columnName = Type.String({ minLength: 1, maxLength: 63 })

/** Configuration key `embeddings`: vector columns that follow the text of their rows. */
export const embeddingsConfig = table(
  Type.Object(
    {
      table: Type.String({ minLength: 1 }),
      columns: Type.Array(columnName, { minItems: 1, maxItems: 20 }),
      vector_column: columnName,
      model: Type.Optional(Type.String({ minLength: 1 })),
      template: Type.Optional(Type.String({ minLength: 1, maxLength: 10_000 })),
    },
    { additionalProperties: false },
  ),
  'Vector columns that Basalt updates when the text of their row changes, by name. Each has table, columns (of the text) and vector_column. Optional are model ("provider:model") and template, such as "{title}: {body}".',
  { expects: 'a table of embeddings with table, columns and vector_column' },
)
