import { integer, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Configuration `sites`: static sites that the server hosts. */
export const sitesConfig = Type.Object({
  base_domain: text(
    '',
    'Parent domain of sites. A site is served at slug.base_domain. Empty: `localhost` if only this machine reaches the server, else no site is served.',
    {
      pattern: '^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$',
      expects: 'a domain in lower case, such as sites.example.com',
    },
  ),
  max_file_size: integer(26_214_400, 'Maximum size of a site file, in bytes.', 1024, 268_435_456),
  kept_deploys: integer(10, 'Number of superseded deploys kept for each site.', 0, 1000),
})

export type SitesConfig = Static<typeof sitesConfig>
