import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { SystemDatabase } from '../system-database.ts'
import { type CatalogScope, loadCatalog } from './load.ts'
import type { Catalog } from './model.ts'
import { type FingerprintRow, fingerprintQuery } from './queries/fingerprint.ts'

export interface LiveCatalogOptions extends CatalogScope {
  readonly database: SystemDatabase
  readonly clock: Clock
  readonly log: (message: string, detail?: object) => void
  /** Called when definitions have changed. */
  readonly onChange?: (before: Catalog, after: Catalog) => void
}

/** Half of the two seconds within which every node has to see DDL. */
const pollIntervalMs = 1000

/** What was planned on a snapshot fails for it within this time after the next one is there. */
const recentMs = 2000

/**
 * The current snapshot of the catalog. It is compared with the database once a second by a fingerprint, which
 * needs neither event triggers nor superuser rights, and at once when a request names something unknown.
 */
export class LiveCatalog {
  readonly #options: LiveCatalogOptions
  #current: Catalog
  #replacedAt = Number.NEGATIVE_INFINITY
  #refreshing: Promise<void> | undefined
  /** Begins when {@link #refreshing} ends, for those who came too late for it. */
  #refreshingNext: Promise<void> | undefined
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

  /**
   * Looks whether definitions have changed.
   *
   * @param seen the snapshot that proved outdated
   * @returns whether there is a newer snapshot than that; when it is not given, whether there is one so new that
   *   the caller may have worked on the one before
   */
  async refresh(seen?: Catalog): Promise<boolean> {
    const before = seen ?? this.#current
    if (this.#current === before) await this.#refreshFromNow()
    if (this.#current !== before) return true
    return seen === undefined && performance.now() - this.#replacedAt < recentMs
  }

  /** A look that is already in flight may have read the definitions before the caller's reason came about. */
  #refreshFromNow(): Promise<void> {
    if (this.#refreshing === undefined) {
      this.#refreshing = this.#refresh().finally(() => {
        this.#refreshing = undefined
      })
      return this.#refreshing
    }
    this.#refreshingNext ??= this.#refreshing
      .catch(() => undefined)
      .then(() => {
        this.#refreshingNext = undefined
        return this.#refreshFromNow()
      })
    return this.#refreshingNext
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #refresh(): Promise<void> {
    const { database, schemas, requireRls } = this.#options
    const { fingerprint } = await database.one<FingerprintRow & Record<string, unknown>>(
      fingerprintQuery(schemas, requireRls),
    )
    if (fingerprint === this.#current.fingerprint) return
    const before = this.#current
    this.#current = await load(this.#options)
    this.#replacedAt = performance.now()
    this.#options.onChange?.(before, this.#current)
  }

  #schedule(): void {
    this.#timer = setTimeout(async () => {
      try {
        await this.refresh()
        this.#isBroken = false
      } catch (error) {
        if (!this.#isBroken && this.#timer !== undefined)
          this.#options.log('the catalog cannot be read; the last snapshot stays', {
            reason: messageOf(error),
          })
        this.#isBroken = true
      }
      if (this.#timer !== undefined) this.#schedule()
    }, pollIntervalMs).unref()
  }
}

function load(options: LiveCatalogOptions): Promise<Catalog> {
  const { database, clock } = options
  return database.transaction((transaction) => loadCatalog(transaction, options, clock.now()))
}
