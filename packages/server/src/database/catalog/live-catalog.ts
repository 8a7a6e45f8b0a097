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
  /** Times the pauses between reads; that of the system unless given. */
  readonly timer?: Timer
  /** Called when definitions have changed. */
  readonly onChange?: (before: Catalog, after: Catalog) => void
}

/**
 * How often definitions are compared: DDL is seen within two seconds. Folding the catalogue takes a few milliseconds, so
 * that it is not done at every look.
 */
const compareMs = 1000

/**
 * Reads of the catalogue that may follow each other at once. Requests for unknown names arrive as fast as a client sends
 * them: beyond these, those that arrive during a pause share a read.
 */
const burst = 20
/** A pause between two reads; one more may follow at once for each that has passed. */
const pauseMs = 50

/**
 * A table is locked to print its policies, and a transaction that changes it may hold the lock for long. The policies of
 * before are in force until then, so the last snapshot stays and another look follows.
 */
const lockTimeoutMs = 100
/** SQLSTATE lock_not_available. */
const lockNotAvailable = '55P03'

/** What was planned on a snapshot fails for it within this time after the next one is there. */
const recentMs = 2000

/**
 * The current snapshot of the catalog. It is compared with the database by a fingerprint, which
 * needs neither event triggers nor superuser rights, and at once when a request names something unknown.
 */
export class LiveCatalog {
  readonly #options: LiveCatalogOptions
  readonly #listeners: ((before: Catalog, after: Catalog) => void)[]
  #current: Catalog
  #sessionCode: SessionCode
  #replacedAt = Number.NEGATIVE_INFINITY
  #refreshing: Promise<void> | undefined
  /** Starts when {@link #refreshing} and the pause after it end, for callers that came too late for it. */
  #refreshingNext: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  readonly #timer: Timer
  /** Reads that may follow at once, as of the time below. */
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

  /** The snapshot; take it once per request. */
  get current(): Catalog {
    return this.#current
  }

  /** What of the operator's code may leave something in a session, as of the snapshot. */
  get sessionCode(): SessionCode {
    return this.#sessionCode
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

  /** A look in flight may have read the definitions before the caller's reason came about. */
  #refreshFromNow(): Promise<void> {
    if (this.#refreshing === undefined) {
      const look = this.#refresh()
      // Nothing can be shared with a look that failed.
      this.#refreshing = look
        .then(() => this.#pauseAfterRead())
        .finally(() => {
          this.#refreshing = undefined
        })
      this.#refreshing.catch(() => undefined)
      return look
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

  /** Called when definitions have changed, with the snapshot before. */
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
      // What fails is noticed by the next comparison.
      this.refresh().catch(() => undefined)
    }, compareMs).unref()
  }
}

/** Of one transaction. */
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
