import type { Clock } from '../../lib/clock.ts'
import type { SystemDatabase } from '../system-database.ts'
import { loadCatalog } from './load.ts'
import type { Catalog } from './model.ts'
import { type FingerprintRow, fingerprintQuery } from './queries/fingerprint.ts'

export interface LiveCatalogOptions {
  readonly database: SystemDatabase
  readonly schemas: readonly string[]
  readonly clock: Clock
  readonly log: (message: string, detail?: object) => void
}

/** Half of the two seconds within which every node has to see DDL (decisions, Collections). */
const pollIntervalMs = 1000

/**
 * The current snapshot of the catalog. It is compared with the database once a second by a fingerprint, which
 * needs neither event triggers nor superuser rights, and at once when a request names something unknown.
 */
export class LiveCatalog {
  readonly #options: LiveCatalogOptions
  #current: Catalog
  #refreshing: Promise<boolean> | undefined
  #timer: NodeJS.Timeout | undefined
  #isBroken = false

  private constructor(options: LiveCatalogOptions, current: Catalog) {
    this.#options = options
    this.#current = current
  }

  static async open(options: LiveCatalogOptions): Promise<LiveCatalog> {
    const catalog = new LiveCatalog(options, await load(options))
    catalog.#schedule()
    return catalog
  }

  /** The snapshot; take it once per request. */
  get current(): Catalog {
    return this.#current
  }

  /** Looks whether definitions have changed; answers whether there is a new snapshot. */
  refresh(): Promise<boolean> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #refresh(): Promise<boolean> {
    const { database, schemas } = this.#options
    const { fingerprint } = await database.one<FingerprintRow & Record<string, unknown>>(
      fingerprintQuery(schemas),
    )
    if (fingerprint === this.#current.fingerprint) return false
    this.#current = await load(this.#options)
    return true
  }

  #schedule(): void {
    this.#timer = setTimeout(async () => {
      try {
        await this.refresh()
        this.#isBroken = false
      } catch (error) {
        if (!this.#isBroken)
          this.#options.log('the catalog cannot be read; the last snapshot stays', { err: error })
        this.#isBroken = true
      }
      if (this.#timer !== undefined) this.#schedule()
    }, pollIntervalMs).unref()
  }
}

function load({ database, schemas, clock }: LiveCatalogOptions): Promise<Catalog> {
  return database.transaction((transaction) => loadCatalog(transaction, schemas, clock.now()))
}
