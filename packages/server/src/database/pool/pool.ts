import type { Connection } from '../connection/connection.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { refusalOf, type WaitingLimits } from './admission.ts'
import { type Checkout, type CheckoutOptions, Checkouts } from './checkouts.ts'
import { Expiry } from './expiry.ts'
import { longestWorkMs, PoolMeter } from './pool-sizing.ts'
import type { SharedConnections, SharingPool } from './shared-connections.ts'
import { SubjectQueue, type WaitingEntry } from './subject-queue.ts'
import { SubjectQuotas } from './subject-quotas.ts'

export interface PoolOptions extends CheckoutOptions, WaitingLimits {
  readonly open: () => Promise<Connection>
  /** Maximum number of connections. */
  readonly size: number
  /** Processors of the database's machine, where they are known. */
  readonly cores?: number | undefined
  /** Common limit of this pool's connections and those of others. */
  readonly shared?: SharedConnections | undefined
  readonly observer?: PoolObserver | undefined
}

/** Observer of the number of connections. */
export interface PoolObserver {
  /** Handles waiting work for which the size, or a quota derived from it, allows no further connection. */
  onFull(): void
  /** Handles the end of a connection. */
  onClosed(): void
}

export interface Work<Result> {
  /** Does the work. @param assign names the subject from now on, where `subject` does not */
  readonly run: (connection: Connection, assign: (subject: string | undefined) => void) => Promise<Result>
  /** Subject of the work: a relation, or a purpose. Its connections are limited to a quota. */
  readonly subject?: string | undefined
  /** Returns true if the caller has disconnected; called while the work waits and runs. */
  readonly isAbandoned?: (() => boolean) | undefined
  /** Time limit of this work in milliseconds. Default: `workTimeoutMs` of the pool. */
  readonly limitMs?: number | undefined
}

interface Waiter extends WaitingEntry {
  readonly isAbandoned: (() => boolean) | undefined
  readonly resolve: (checkout: Checkout) => void
  readonly reject: (error: Error) => void
}

/** Time within which a new connection must respond before it is destroyed. */
const measureTimeoutMs = 3000
const roundTripsPerOpening = 3
/** Number of waiters up to which {@link Pool.wantedCount} counts. */
const countedWaiters = 1000

/** Time before the next attempt after a connection could not be opened, while others work. */
const openAgainMs = 100

/**
 * Bounded pool of connections. Unlike a general pool it fails fast. Waiting is bounded in number and time, an
 * unavailable database fails all callers at once, and a caller that disconnects releases its slot.
 */
export class Pool implements SharingPool {
  readonly #options: PoolOptions
  readonly #limits: WaitingLimits & { size: number }
  /** Idle connections, last in, first out: few stay warm, the rest may idle out at the server. */
  readonly #idle: Connection[] = []
  readonly #checkouts: Checkouts
  readonly #quotas: SubjectQuotas
  readonly #waiting: SubjectQueue<Waiter>
  readonly #expiry: Expiry<Waiter>
  readonly #blockedCounts: (() => number)[] = []
  readonly #meter: PoolMeter
  #opening = 0
  #closingCount = 0
  #openFailedAt = Number.NEGATIVE_INFINITY
  /** Time at which a connection was last opened or returned. */
  #answeredAt = Number.NEGATIVE_INFINITY
  #growTimer: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  #drained: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    const { size, waitingLimit, acquireTimeoutMs } = options
    this.#limits = { size, waitingLimit, acquireTimeoutMs }
    this.#quotas = new SubjectQuotas(options.size)
    // Work without a subject is our own, or sends reads that their own queue has admitted.
    this.#waiting = new SubjectQueue(this.#quotas, {
      isMeasured: (subject) => subject !== undefined,
      servedTogether: () => this.#limits.size,
    })
    this.#expiry = new Expiry(this.#waiting, options, {
      fail: (waiter, error) => waiter.reject(this.#timeOut(waiter, error)),
      onCheck: () => this.#noticeUnused(),
    })
    this.#checkouts = new Checkouts(options)
    this.#meter = new PoolMeter(options.size, options.cores)
    options.shared?.add(this)
  }

  get connectionCount(): number {
    return this.#checkouts.count + this.#idle.length + this.#opening + this.#closingCount
  }

  get closingCount(): number {
    return this.#closingCount
  }

  /**
   * Number of connections that the work at hand could use: those in use, and one for each overdue waiter and each waiter
   * at its quota.
   */
  get wantedCount(): number {
    const blocked = this.#blockedCounts.reduce((sum, count) => sum + count(), this.#waiting.blockedCount)
    const overdue = this.#waiting.countReady(this.#isOverdue, countedWaiters)
    return this.#checkouts.count + this.#opening + overdue + Math.min(blocked, countedWaiters)
  }

  /** Adds a queue in front of this pool. @param countBlocked counts the connections that quotas deny it */
  addQueue(countBlocked: () => number): void {
    this.#blockedCounts.push(countBlocked)
  }

  /** Reports work that waits because of a quota. */
  reportBlocked(): void {
    this.#options.observer?.onFull()
  }

  get isStarved(): boolean {
    return this.#waiting.length > 0 && this.connectionCount === 0
  }

  async closeIdle(): Promise<boolean> {
    const connection = this.#takeIdle()
    if (connection !== undefined) await this.#end(connection)
    return connection !== undefined
  }

  /** Changes the maximum size. Connections beyond it are closed, idle ones at once, others when they are released. */
  resize(size: number): void {
    this.#limits.size = size
    this.#quotas.resize(size)
    this.#meter.resize(size)
    while (this.connectionCount - this.#closingCount > size && this.#idle.length > 0) void this.closeIdle()
    this.reconsider()
  }

  reconsider(): void {
    if (this.isStarved) this.#grow()
    else this.#scheduleGrowth()
  }

  get limits(): WaitingLimits & Pick<PoolOptions, 'size'> {
    return this.#limits
  }

  /** Milliseconds of a round trip to the database without any work there; 0 on this machine. */
  get networkMs(): number {
    return this.#meter.networkMs
  }

  /** Quotas with the connections that each subject uses. */
  get quotas(): Pick<SubjectQuotas, 'admits' | 'isAnyExhausted' | 'onChange'> {
    return this.#quotas
  }

  get stats(): { readonly busy: number; readonly idle: number; readonly waiting: number } {
    return { busy: this.#checkouts.count, idle: this.#idle.length, waiting: this.#waiting.length }
  }

  /**
   * Runs the work on a connection of its own.
   *
   * @throws PoolExhausted when none became free in time
   * @throws ConnectionLost when Postgres is unavailable
   */
  async use<Result>({ run, subject, isAbandoned, limitMs }: Work<Result>): Promise<Result> {
    const idle = this.#quotas.admits(subject) && this.#hasCapacity() ? this.#takeIdle() : undefined
    const checkout =
      idle === undefined ? await this.#wait(subject, isAbandoned) : this.#begin(idle, subject, isAbandoned)
    if (limitMs !== undefined) checkout.limitMs = limitMs
    let assigned = subject
    const assign = (next: string | undefined): void => {
      if (next === assigned) return
      this.#quotas.acquire(next)
      this.#quotas.release(assigned)
      assigned = next
      this.#scheduleGrowth()
    }
    try {
      return await run(checkout.connection, assign)
    } finally {
      const settling = this.#checkouts.settling(checkout)
      if (settling !== undefined) await settling
      this.#checkouts.end(checkout)
      this.#meter.addWork(performance.now() - checkout.since)
      this.#quotas.release(assigned)
      this.#release(checkout.connection)
    }
  }

  /** Lets the work in flight finish, then closes every connection. */
  close(): Promise<void> {
    this.#closing ??= this.#drain()
    return this.#closing
  }

  /**
   * Fails the work that waits or is in flight, and admits no more. It is for a database that does not respond.
   */
  disconnect(): void {
    void this.close()
    this.#failWaiting(new ConnectionLost('the server is stopping'))
    this.#checkouts.disconnect()
    for (const connection of [...this.#idle]) connection.destroy()
    this.#noticeUnused()
  }

  async #drain(): Promise<void> {
    if (!this.#isUnused()) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    this.#checkouts.close()
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()))
  }

  #isFull(): boolean {
    const { shared, observer } = this.#options
    const isFull = this.connectionCount >= this.#limits.size || shared?.hasCapacityFor(this) === false
    if (isFull) observer?.onFull()
    return isFull
  }

  /** Returns true if a connection that is released is beyond the size, or due to another pool. */
  #mustClose(): boolean {
    if (this.connectionCount - this.#closingCount >= this.#limits.size) return true
    return this.#options.shared?.mustClose(this) === true
  }

  /** Closes a connection that is neither idle nor in use. */
  async #end(connection: Connection): Promise<void> {
    this.#closingCount += 1
    await connection.close()
    this.#closingCount -= 1
    this.#options.observer?.onClosed()
    this.#options.shared?.notify(this)
    this.reconsider()
  }

  #isUnused(): boolean {
    return this.#checkouts.count === 0 && this.#waiting.length === 0 && this.#opening === 0
  }

  #takeIdle(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isOpen) return connection
    }
    return undefined
  }

  #begin(
    connection: Connection,
    subject: string | undefined,
    isAbandoned: (() => boolean) | undefined,
  ): Checkout {
    this.#quotas.acquire(subject)
    return this.#checkouts.begin(connection, isAbandoned)
  }

  #wait(subject: string | undefined, isAbandoned: (() => boolean) | undefined): Promise<Checkout> {
    if (this.#closing !== undefined) return Promise.reject(new ConnectionLost('the server is stopping'))
    const refusal = refusalOf(this.#waiting, subject, this.#limits)
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ since: performance.now(), subject, isAbandoned, resolve, reject })
      this.#expiry.start()
      if (!this.#quotas.admits(subject)) this.reportBlocked()
      else if (this.#hasCapacity(this.#opening)) this.#grow()
      else this.#scheduleGrowth()
    })
  }

  /**
   * Returns the error of a timeout. A database that has accepted no connection during the whole wait is
   * unavailable; any other one is overloaded.
   */
  #timeOut({ since }: Waiter, busy: Error): Error {
    return this.#opening > 0 && this.#answeredAt < since
      ? new ConnectionLost('the database accepted no connection in time')
      : busy
  }

  #failWaiting(error: Error): void {
    for (const { reject } of this.#waiting.removeWhere(() => true)) reject(error)
  }

  /** Schedules growth while another connection could serve a waiter. */
  #scheduleGrowth(): void {
    if (this.#growTimer !== undefined || this.#waiting.readyCount === 0) return
    if (this.#idle.length === 0 && this.#isFull()) return
    const isTooSoon = this.#checkouts.count > 0 && performance.now() - this.#openFailedAt < openAgainMs
    const delayMs = isTooSoon && this.#idle.length === 0 ? openAgainMs : this.#meter.sizing.growDelayMs
    this.#growTimer = setTimeout(() => this.#growForOverdue(), delayMs)
  }

  /** Gives each waiter beyond the grow delay another connection, idle or new. */
  #growForOverdue(): void {
    this.#growTimer = undefined
    const capacity = this.#limits.size - this.#checkouts.count - this.#opening
    const overdue = this.#waiting.countReady(this.#isOverdue, capacity)
    for (let count = 0; count < overdue; count += 1) {
      const idle = this.#takeIdle()
      if (idle !== undefined) this.#release(idle)
      else if (!this.#grow()) break
    }
    this.#scheduleGrowth()
  }

  /** Opens a connection for the waiters, within the size and as long as they outnumber those being opened. */
  #grow(): boolean {
    if (this.#opening >= this.#waiting.length) return false
    if (this.#isFull()) return false
    if (this.#checkouts.count > 0 && performance.now() - this.#openFailedAt < openAgainMs) return false
    this.#opening += 1
    this.#open().then(
      async (connection) => {
        await this.#measureRoundTrip(connection)
        this.#opening -= 1
        connection.onClose(() => this.#forget(connection))
        this.#release(connection)
      },
      (error) => {
        this.#opening -= 1
        this.#openFailedAt = performance.now()
        this.#options.observer?.onClosed()
        // While other connections work, this may be a momentary limit, and the waiters may get one of them.
        if (this.#checkouts.count > 0) {
          this.#scheduleGrowth()
          return
        }
        this.#failWaiting(error)
        this.#noticeUnused()
      },
    )
    return true
  }

  async #open(): Promise<Connection> {
    await this.#options.shared?.freeCapacityFor(this)
    return await this.#options.open()
  }

  /** Sends empty messages, each a Sync alone; the first one also starts the session's process. */
  async #measureRoundTrip(connection: Connection): Promise<void> {
    const timer = setTimeout(() => connection.destroy(), measureTimeoutMs)
    try {
      for (let count = 0; count < roundTripsPerOpening; count += 1) {
        const startedAt = performance.now()
        await connection.send([])
        this.#meter.addRoundTrip(performance.now() - startedAt)
      }
    } catch {
      // The connection is lost, and a closed one is replaced when it is released.
    } finally {
      clearTimeout(timer)
    }
  }

  #release(connection: Connection): void {
    if (!connection.isOpen) {
      this.#options.observer?.onClosed()
      this.#grow()
      this.#options.shared?.notify(this)
    } else if (this.#mustClose()) {
      void this.#end(connection)
    } else {
      this.#answeredAt = performance.now()
      const { firstReady } = this.#waiting
      const isDue = firstReady !== undefined && (this.#hasCapacity() || this.#isOverdue(firstReady))
      const waiter = isDue ? this.#nextWaiter() : undefined
      if (waiter !== undefined) {
        waiter.resolve(this.#begin(connection, waiter.subject, waiter.isAbandoned))
      } else {
        this.#idle.push(connection)
        if (this.#waiting.length > 0) this.#scheduleGrowth()
        this.#options.shared?.notify(this)
      }
    }
    this.#noticeUnused()
  }

  #noticeUnused(): void {
    if (this.#isUnused()) this.#drained?.()
  }

  /** Returns true if the database has processors for the work of another connection. */
  #hasCapacity(opening = 0): boolean {
    const computing = this.#checkouts.countBegunSince(performance.now() - longestWorkMs)
    return computing < this.#meter.sizing.eagerSize - opening
  }

  readonly #isOverdue = ({ since }: Waiter): boolean =>
    performance.now() - since >= this.#meter.sizing.growDelayMs

  #nextWaiter(): Waiter | undefined {
    for (;;) {
      const waiter = this.#waiting.take(performance.now())
      if (waiter === undefined) return undefined
      if (waiter.isAbandoned?.() !== true) return waiter
      waiter.reject(new ConnectionLost('the caller has disconnected'))
    }
  }

  #forget(connection: Connection): void {
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    this.#options.observer?.onClosed()
  }
}
