import { Type } from 'typebox'
import { integer } from '../../../config/keys.ts'

/** `api`: the data API. */
export const apiConfig = Type.Object({
  import_max_size_mb: integer(50, 'Largest body of an import, in MiB.', 1, 10_240),
  import_max_rows: integer(100_000, 'Rows of an import at most.', 1, 100_000_000),
  import_timeout: integer(300, 'Seconds an import may work in the database.', 1, 86_400),
})
