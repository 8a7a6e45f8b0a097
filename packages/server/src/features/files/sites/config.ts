import { Type } from 'typebox'
import { integer } from '../../../config/keys.ts'

/** `sites`: static sites that the server hosts. */
export const sitesConfig = Type.Object({
  max_file_size: integer(26_214_400, 'Largest file of a site, in bytes.', 1024, 268_435_456),
  kept_deploys: integer(10, 'Superseded deploys of a site that are kept.', 0, 1000),
})
