import type { Notifications } from '../../../../database/notifications.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { Lru } from '../../../../lib/lru.ts'
import { siteTopic } from '../topic.ts'
import type { SiteFiles, StoredFile } from './find-file.ts'
import { findEarlierFile, type LiveSite, listFiles, listLiveSites, siteVersion } from './serving-queries.ts'

/** Deploys whose list of files a node keeps in memory. */
const deployLimit = 100

type Files = ReadonlyMap<string, StoredFile>

/** Which deploy of which site is live, on this node within a second of its promotion, and the files of it. */
export class LiveSites {
  readonly #database: Queryable
  readonly #files = new Lru<string, Promise<Files>>(deployLimit)
  #sites: ReadonlyMap<string, LiveSite> = new Map()

  constructor(database: Queryable, notifications: Pick<Notifications, 'watch'>) {
    this.#database = database
    notifications.watch({
      topic: siteTopic,
      version: siteVersion,
      onChange: async () => {
        const sites = await listLiveSites(database)
        this.#sites = new Map(sites.map((site) => [site.slug, site]))
      },
    })
  }

  /** Undefined when nothing is live. */
  async find(slug: string): Promise<SiteFiles | undefined> {
    const site = this.#sites.get(slug)
    if (site === undefined) return undefined
    const files = await this.#filesOf(site.deploy_id)
    return {
      isSpa: site.spa_mode,
      find: (path) => files.get(path),
      findEarlier: (path) => findEarlierFile(this.#database, site.id, path),
    }
  }

  /** A live deploy takes no more files, so its list never changes. */
  #filesOf(deployId: string): Promise<Files> {
    const known = this.#files.get(deployId)
    if (known !== undefined) return known
    const reading = listFiles(this.#database, deployId).then(
      (files) => new Map(files.map((file) => [file.path, file])),
    )
    this.#files.set(deployId, reading)
    reading.catch(() => this.#files.delete(deployId))
    return reading
  }
}
