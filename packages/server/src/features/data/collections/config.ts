import { flag, integer, text } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Keys of `api`, the data API. */
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
  max_facet_buckets: integer(
    1000,
    'Values answered of each facet at most; the most frequent ones.',
    1,
    100_000,
  ),
  aggregate_enabled: flag(true, 'Whether lists answer aggregates.'),
  max_groups: integer(10_000, 'Groups that an aggregate answers at most.', 1, 1_000_000),
  export_max_rows: integer(1_000_000, 'Rows that an export has at most.', 1, 1_000_000_000),
  export_timeout: integer(3600, 'Seconds that an export may take.', 1, 86_400),
  max_exports: integer(
    4,
    'Exports at once, per node; each has a connection beside database.max_conns.',
    1,
    100,
  ),
  import_max_size_mb: integer(50, 'Largest body of an import, in MiB.', 1, 10_240),
  import_max_rows: integer(100_000, 'Rows of an import at most.', 1, 100_000_000),
  import_max_refused: integer(
    10_000,
    'Rows that the database may refuse before an import in the mode `partial` ends; nothing of it is kept then.',
    1,
    100_000_000,
  ),
  import_timeout: integer(300, 'Seconds an import may work in the database.', 1, 86_400),
})
