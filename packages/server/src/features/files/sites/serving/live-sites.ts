import type { Notifications, WatchHandle } from '../../../../database/notifications/notifications.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { ReadCache } from '../../../../lib/read-cache.ts'
import { readRuleFiles } from '../rules/rule-queries.ts'
import { parseRules, ruleFiles, type SiteRules } from '../rules/site-rules.ts'
import type { SiteFiles, StoredFile } from './find-file.ts'
import {
  type DomainRoute,
  findFileInOtherDeploys,
  type LiveSite,
  listDomainRoutes,
  listFiles,
  listLiveSites,
  siteVersion,
} from './serving-queries.ts'

/** Topic of notifications that a live deploy, site or domain may have changed. */
const topic = 'sites'

/** Maximum number of files of live deploys whose paths a node holds in memory. Each takes about 300 bytes. */
const fileLimit = 400_000

/** Live deploy. It accepts no more files, so it never changes. */
interface LiveDeploy {
  readonly files: ReadonlyMap<string, StoredFile>
  readonly rules: SiteRules
}

/** Live deploys of all sites with their files. Other nodes notice a promotion within a second. */
export class LiveSites {
  readonly #database: Queryable
  readonly #notifications: Pick<Notifications, 'watch' | 'announce'>
  readonly #watch: WatchHandle
  readonly #deploys: ReadCache<string, LiveDeploy>
  #sites: ReadonlyMap<string, LiveSite> = new Map()
  #domains: ReadonlyMap<string, DomainRoute> = new Map()
  #domainsOfSites: ReadonlyMap<string, DomainRoute> = new Map()

  constructor(database: Queryable, notifications: Pick<Notifications, 'watch' | 'announce'>) {
    this.#database = database
    this.#notifications = notifications
    this.#deploys = new ReadCache({
      limit: fileLimit,
      weigh: ({ files }) => 1 + files.size,
      read: (deployId) => readDeploy(database, deployId),
    })
    this.#watch = notifications.watch({
      topic,
      version: siteVersion,
      onChange: async () => {
        const sites = await listLiveSites(database)
        const domains = await listDomainRoutes(database)
        this.#sites = new Map(sites.map((site) => [site.slug, site]))
        this.#domains = new Map(domains.map((domain) => [domain.hostname, domain]))
        const active = [...this.#domains.values()].filter(({ isActive }) => isActive)
        this.#domainsOfSites = new Map(
          active.flatMap((domain) => (domain.slug === null ? [] : [[domain.slug, domain] as const])),
        )
      },
    })
  }

  /** Applies a committed change on this node before it resolves, and notifies the other nodes. Never fails. */
  async refresh(): Promise<void> {
    this.#notifications.announce(topic)
    // The polling loop retries failed reads. The change was made, so the response must report success.
    await this.#watch.poll().catch(() => undefined)
  }

  /** Returns whether the site has a live deploy. */
  has(slug: string): boolean {
    return this.#sites.has(slug)
  }

  /** Returns the route of a custom domain. Undefined for other names and domains that were never verified. */
  findDomain(hostname: string): DomainRoute | undefined {
    return this.#domains.get(hostname)
  }

  /** Returns the verified domain of a site. */
  domainOf(slug: string): DomainRoute | undefined {
    return this.#domainsOfSites.get(slug)
  }

  /** Returns the files of a site. Undefined if it has no live deploy. */
  async find(slug: string): Promise<SiteFiles | undefined> {
    const site = this.#sites.get(slug)
    const deploy = site === undefined ? undefined : await this.#deploys.get(site.deploy_id)
    if (site === undefined || deploy === undefined) return undefined
    const { files, rules } = deploy
    return {
      isSpa: site.spa_mode,
      rules,
      find: (path) => files.get(path),
      findInOtherDeploys: (path) => findFileInOtherDeploys(this.#database, site.id, path),
    }
  }
}

async function readDeploy(database: Queryable, deployId: string): Promise<LiveDeploy> {
  const stored = await listFiles(database, deployId)
  const hasRules = stored.some(({ path }) => ruleFiles.includes(path))
  const { rules } = parseRules(hasRules ? await readRuleFiles(database, deployId) : [])
  const served = stored.filter(({ path }) => !ruleFiles.includes(path))
  return { files: new Map(served.map((file) => [file.path, file])), rules }
}
