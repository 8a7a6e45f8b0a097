import { integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `search`: searches of collections. */
export const searchConfig = Type.Object({
  rank_limit: integer(
    1000,
    'Matches that a search ranks at most, of those that the caller may read. A search with more ranks the first ones in the order of the table, and says so.',
    1,
    1_000_000,
  ),
})
