import { flag } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Keys of `docs`. */
export const docsConfig = Type.Object({
  site: flag(
    true,
    'True if the documentation site of this version is served at /docs. Otherwise /docs leads to the plain pages below /api/docs.',
  ),
})
