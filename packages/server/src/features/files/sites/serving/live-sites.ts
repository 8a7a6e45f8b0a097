import type { Notifications, WatchHandle } from '../../../../database/notifications/notifications.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { ReadCache } from '../../../../lib/read-cache.ts'
import { readRuleFiles } from '../rules/rule-queries.ts'
import { parseRules, ruleFiles, type SiteRules } from '../rules/site-rules.ts'
import type { SiteFiles, StoredFile } from './find-file.ts'
import {
  findOtherFile,
  type LiveSite,
  listFiles,
  listLiveSites,
  listServedDomains,
  type ServedDomain,
  siteVersion,
} from './serving-queries.ts'

/** Announced when which deploy of which site is live may have changed. */
const topic = 'sites'

/** Files of live deploys whose paths a node keeps in memory, some 300 bytes each. */
const fileLimit = 400_000

/** A live deploy takes no more files, so it never changes. */
interface LiveDeploy {
  readonly files: ReadonlyMap<string, StoredFile>
  readonly rules: SiteRules
}

/** Which deploy of which site is live, and the files of it; on other nodes within a second of its promotion. */
export class LiveSites {
  readonly #database: Queryable
  readonly #notifications: Pick<Notifications, 'watch' | 'announce'>
  readonly #watch: WatchHandle
  readonly #deploys: ReadCache<string, LiveDeploy>
  #sites: ReadonlyMap<string, LiveSite> = new Map()
  #domains: ReadonlyMap<string, ServedDomain> = new Map()
  #domainsOfSites: ReadonlyMap<string, ServedDomain> = new Map()

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
        const domains = await listServedDomains(database)
        this.#sites = new Map(sites.map((site) => [site.slug, site]))
        this.#domains = new Map(domains.map((domain) => [domain.hostname, domain]))
        const active = [...this.#domains.values()].filter(({ isActive }) => isActive)
        this.#domainsOfSites = new Map(
          active.flatMap((domain) => (domain.slug === null ? [] : [[domain.slug, domain] as const])),
        )
      },
    })
  }

  /** After the commit of a change: in force on this node when it resolves, and soon on the others. Never fails. */
  async refresh(): Promise<void> {
    this.#notifications.announce(topic)
    // What cannot be read now, the loop reads again: the change was made, and its answer has to say so.
    await this.#watch.poll().catch(() => undefined)
  }

  /** Whether something is live. */
  has(slug: string): boolean {
    return this.#sites.has(slug)
  }

  /** Undefined for a name that is not a custom domain, or was never verified. */
  findDomain(hostname: string): ServedDomain | undefined {
    return this.#domains.get(hostname)
  }

  /** The one that is verified, of a site. */
  domainOf(slug: string): ServedDomain | undefined {
    return this.#domainsOfSites.get(slug)
  }

  /** Undefined when nothing is live. */
  async find(slug: string): Promise<SiteFiles | undefined> {
    const site = this.#sites.get(slug)
    const deploy = site === undefined ? undefined : await this.#deploys.get(site.deploy_id)
    if (site === undefined || deploy === undefined) return undefined
    const { files, rules } = deploy
    return {
      isSpa: site.spa_mode,
      rules,
      find: (path) => files.get(path),
      findOther: (path) => findOtherFile(this.#database, site.id, path),
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
