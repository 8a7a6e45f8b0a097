import { Type } from 'typebox'
import { integer, text } from '../../../config/keys.ts'

/** `api`: the data API. */
export const apiConfig = Type.Object({
  text_search_config: text(
    'english',
    "PostgreSQL's text search configuration that `search` works with: which words are the same, and which do not count.",
    {
      pattern: '^[^\\u0000]+$',
      expects: 'the name of a text search configuration, such as english or simple',
    },
  ),
  bulk_max_rows: integer(1000, 'Records that one PATCH or DELETE by filter may change.', 1, 100_000),
  import_max_size_mb: integer(50, 'Largest body of an import, in MiB.', 1, 10_240),
  import_max_rows: integer(100_000, 'Rows of an import at most.', 1, 100_000_000),
  import_timeout: integer(300, 'Seconds an import may work in the database.', 1, 86_400),
})
