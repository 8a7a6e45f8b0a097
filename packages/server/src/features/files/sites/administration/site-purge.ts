import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { PurgeChanged } from '../../cdn/index.ts'
import type { SiteAddress } from '../address.ts'
import { ruleFiles } from '../rules/site-rules.ts'
import { isHashedName } from '../serving/file-name.ts'
import type { SiteRow } from './site.ts'

/** Function that purges the CDN copies of the files made stale by a change of the live deploy. */
export type PurgeSite = (
  transaction: Queryable,
  site: SiteRow,
  before: string | null,
  after: string | null,
) => Promise<void>

/** Maximum number of addresses in a purge: a hundred requests to Cloudflare. Above it, everything is purged. */
const addressLimit = 3000

export function createSitePurge(purge: PurgeChanged, addressOf: SiteAddress): PurgeSite {
  return async (transaction, { slug, hostname }, before, after) => {
    if (before === null) return
    const changed = await listChangedPaths(transaction, before, after)
    // Rules can affect any path.
    const isAll = after === null || changed.some((path) => ruleFiles.includes(path))
    const paths = isAll
      ? await listChangedPaths(transaction, before, null)
      : changed.filter((path) => !isHashedName(path))
    const origins = [addressOf(slug), hostname === null ? undefined : addressOf(slug, hostname)]
    const urls = origins.flatMap((origin) =>
      origin === undefined ? [] : paths.flatMap((path) => pathsOf(path).map((each) => origin + each)),
    )
    if (urls.length > addressLimit) await purge(transaction, { operation: 'purge_all' })
    else if (urls.length > 0) await purge(transaction, { operation: 'purge_urls', urls })
  }
}

/** Lists the paths of files that differ between two deploys, or all files of the first without a second. */
async function listChangedPaths(
  transaction: Queryable,
  before: string,
  after: string | null,
): Promise<string[]> {
  const rows = await transaction.many<{ path: string }>(sql`
    select path from (
      select path, sha256, content_type from basalt.site_files where deploy_id = ${before}::uuid
    ) b full join (
      select path, sha256, content_type from basalt.site_files where deploy_id = ${after}::uuid
    ) a using (path)
    where (b.sha256, b.content_type) is distinct from (a.sha256, a.content_type)
    order by path`)
  return rows.map(({ path }) => path)
}

/**
 * Returns every address of a file. For example, `docs/index.html` is served at `/docs/`, and `/docs` redirects there.
 */
export function pathsOf(path: string): string[] {
  const address = `/${path.split('/').map(encodeURIComponent).join('/')}`
  const bare = address.replace(/\.html$/, '')
  if (bare === address) return [address]
  if (!/(^|\/)index\.html$/.test(path)) return [address, bare]
  const folder = bare.slice(0, -'index'.length)
  return folder === '/' ? [address, folder] : [address, folder, folder.slice(0, -1)]
}
