import { integer, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `sites`: static sites that the server hosts. */
export const sitesConfig = Type.Object({
  base_domain: text(
    '',
    'Parent domain of sites, which are served as slug.base_domain. Empty: localhost where only this machine reaches the server, else none are served.',
    {
      pattern: '^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$',
      expects: 'a domain in lower case, such as sites.example.com',
    },
  ),
  max_file_size: integer(26_214_400, 'Largest file of a site, in bytes.', 1024, 268_435_456),
  kept_deploys: integer(10, 'Superseded deploys of a site that are kept.', 0, 1000),
})

export type SitesConfig = Static<typeof sitesConfig>
