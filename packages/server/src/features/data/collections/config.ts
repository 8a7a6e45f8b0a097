import { flag, integer, text } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Keys of `api`, the data API. */
export const apiConfig = Type.Object({
  text_search_config: text(
    'english',
    "PostgreSQL's text search configuration that `search` uses. It decides which words are the same, and which are ignored.",
    {
      pattern: '^[^\\u0000]+$',
      expects: 'the name of a text search configuration, such as english or simple',
    },
  ),
  bulk_max_rows: integer(
    1000,
    'Maximum number of records that one PATCH or DELETE by filter may change.',
    1,
    100_000,
  ),
  max_facet_buckets: integer(
    1000,
    'Maximum number of values per facet. The most frequent ones are returned.',
    1,
    100_000,
  ),
  aggregate_enabled: flag(true, 'Enables aggregates over lists.'),
  max_groups: integer(10_000, 'Maximum number of groups in the response of an aggregate.', 1, 1_000_000),
  export_max_rows: integer(1_000_000, 'Maximum number of rows of an export.', 1, 1_000_000_000),
  export_timeout: integer(3600, 'Maximum duration of an export in seconds.', 1, 86_400),
  max_exports: integer(
    4,
    'Maximum number of concurrent exports per node. Each uses a connection in addition to database.max_conns.',
    1,
    100,
  ),
  import_max_size_mb: integer(50, 'Maximum size of an import body in MiB.', 1, 10_240),
  import_max_rows: integer(100_000, 'Maximum number of rows of an import.', 1, 100_000_000),
  import_max_refused: integer(
    10_000,
    'Maximum number of rows that the database may reject in an import with `mode=partial`. Beyond it, the import ends and nothing is kept.',
    1,
    100_000_000,
  ),
  import_timeout: integer(300, 'Maximum time in seconds that an import may work in the database.', 1, 86_400),
})
