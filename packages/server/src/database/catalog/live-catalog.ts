import type { Clock } from '../../lib/clock.ts'
import { codeOf } from '../../lib/errors.ts'
import { systemTimer, type Timer } from '../../lib/timer.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { sql } from '../sql.ts'
import type { SystemDatabase } from '../system-database.ts'
import { type CatalogScope, loadCatalog } from './load.ts'
import type { Catalog } from './model.ts'
import { type FingerprintRow, fingerprintQuery } from './queries/fingerprint.ts'
import { type SessionCodeRow, sessionCodeQuery } from './queries/session-code.ts'
import { SessionCode } from './session-code.ts'

export interface LiveCatalogOptions extends CatalogScope {
  readonly database: SystemDatabase
  readonly clock: Clock
  /** Timer of the pauses between reads; by default that of the system. */
  readonly timer?: Timer
  /** Listener for changed definitions. */
  readonly onChange?: (before: Catalog, after: Catalog) => void
}

/**
 * Interval of comparisons: DDL is seen within two seconds. Hashing the catalog takes a few milliseconds, too
 * much for every poll.
 */
const compareMs = 1000

/**
 * Number of catalog reads that may follow each other at once. Requests for unknown names arrive as fast as a
 * client sends them. Beyond this number, those that arrive during a pause share a read.
 */
const burst = 20
/** Pause between two reads; after each pause one more may follow at once. */
const pauseMs = 50

/**
 * Lock timeout of a read. Printing policies locks the table, and a transaction that changes it may hold the
 * lock for long. Its old policies are in force until then, so the last snapshot stays until the next poll.
 */
const lockTimeoutMs = 100
/** SQLSTATE lock_not_available. */
const lockNotAvailable = '55P03'

/** Time after a new snapshot in which statements planned on the previous one may fail. */
const recentMs = 2000

/**
 * Current snapshot of the catalog. A fingerprint compares it with the database, which needs neither event
 * triggers nor superuser rights. When a request contains an unknown name, it is compared at once.
 */
export class LiveCatalog {
  readonly #options: LiveCatalogOptions
  readonly #listeners: ((before: Catalog, after: Catalog) => void)[]
  #current: Catalog
  #sessionCode: SessionCode
  #replacedAt = Number.NEGATIVE_INFINITY
  #refreshing: Promise<void> | undefined
  /** Read after {@link #refreshing} and the pause, for callers that arrived too late for that one. */
  #refreshingNext: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  readonly #timer: Timer
  /** Number of reads that may follow at once, as of the time below. */
  #readsLeft = burst
  #countedAt: number

  private constructor(options: LiveCatalogOptions, { catalog, sessionCode }: Snapshot) {
    this.#options = options
    this.#sessionCode = sessionCode
    this.#listeners = options.onChange === undefined ? [] : [options.onChange]
    this.#current = catalog
    this.#timer = options.timer ?? systemTimer
    this.#countedAt = this.#timer.now()
  }

  static async open(options: LiveCatalogOptions): Promise<LiveCatalog> {
    return new LiveCatalog(options, await load(options))
  }

  /** Current snapshot; read it once per request. */
  get current(): Catalog {
    return this.#current
  }

  /** Operator code that may leave state in a session, as of the snapshot. */
  get sessionCode(): SessionCode {
    return this.#sessionCode
  }

  /**
   * Checks for changed definitions.
   *
   * @param seen snapshot that proved outdated
   * @returns true if there is a newer snapshot than `seen`. Without `seen`, true if the snapshot is so new that
   * the caller may have used the one before
   */
  async refresh(seen?: Catalog): Promise<boolean> {
    const before = seen ?? this.#current
    if (this.#current === before) await this.#refreshFromNow()
    if (this.#current !== before) return true
    return seen === undefined && performance.now() - this.#replacedAt < recentMs
  }

  /**
   * Refreshes from now on. A refresh in flight may have read the definitions before the caller's reason arose.
   */
  #refreshFromNow(): Promise<void> {
    if (this.#refreshing === undefined) {
      const refresh = this.#refresh()
      // Callers do not share a failed refresh.
      this.#refreshing = refresh
        .then(() => this.#pauseAfterRead())
        .finally(() => {
          this.#refreshing = undefined
        })
      this.#refreshing.catch(() => undefined)
      return refresh
    }
    this.#refreshingNext ??= this.#refreshing
      .catch(() => undefined)
      .then(() => {
        this.#refreshingNext = undefined
        return this.#refreshFromNow()
      })
    return this.#refreshingNext
  }

  /** Resolves when another read may follow. */
  async #pauseAfterRead(): Promise<void> {
    const now = this.#timer.now()
    this.#readsLeft = Math.min(burst, this.#readsLeft + (now - this.#countedAt) / pauseMs) - 1
    this.#countedAt = now
    if (this.#readsLeft >= 1) return
    await new Promise<void>((resolve) => this.#timer.after((1 - this.#readsLeft) * pauseMs, resolve))
  }

  /** Adds a listener for changed definitions, which gets the previous snapshot. */
  onChange(listener: (before: Catalog, after: Catalog) => void): void {
    this.#listeners.push(listener)
  }

  /** Keeps the snapshot up to date. */
  watchWith(notifications: Pick<Notifications, 'watch'>): void {
    const { schemas, requireRls } = this.#options
    notifications.watch({
      topic: 'catalog',
      version: sql`(${fingerprintQuery(schemas, requireRls)})`,
      everyMs: () => compareMs,
      onChange: async (version) => {
        if (version !== this.#current.fingerprint) await this.refresh()
      },
    })
  }

  async #refresh(): Promise<void> {
    const { database, schemas, requireRls } = this.#options
    const { fingerprint } = await database.one<FingerprintRow & Record<string, unknown>>(
      sql.prepared(fingerprintQuery(schemas, requireRls)),
    )
    if (fingerprint === this.#current.fingerprint) return
    const before = this.#current
    const after = await load({ ...this.#options, lockTimeoutMs }).catch((error) => {
      if (codeOf(error) === lockNotAvailable) return undefined
      throw error
    })
    if (after === undefined) {
      this.#retryLater()
      return
    }
    this.#current = after.catalog
    this.#sessionCode = after.sessionCode
    this.#replacedAt = performance.now()
    for (const listener of this.#listeners) listener(before, after.catalog)
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      // The next comparison notices the failure.
      this.refresh().catch(() => undefined)
    }, compareMs).unref()
  }
}

/** Parts read in one transaction. */
interface Snapshot {
  readonly catalog: Catalog
  readonly sessionCode: SessionCode
}

function load(options: LiveCatalogOptions): Promise<Snapshot> {
  const { database, clock } = options
  return database.transaction(async (transaction) => ({
    catalog: await loadCatalog(transaction, options, clock.now()),
    sessionCode: new SessionCode(
      await transaction.many<SessionCodeRow & Record<string, unknown>>(sessionCodeQuery),
    ),
  }))
}
