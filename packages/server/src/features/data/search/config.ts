import { integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Keys of `search`, searches of collections. */
export const searchConfig = Type.Object({
  rank_limit: integer(
    1000,
    'Maximum number of matches that a search ranks, among the readable ones. If there are more, it ranks the first ones in table order and sets `searchExhaustive` to false.',
    1,
    1_000_000,
  ),
})
