import type { Connection } from './connection.ts'
import { ConnectionLost, PoolExhausted } from './failures.ts'
import { longestWorkMs, PoolMeter } from './pool-sizing.ts'
import { Shares } from './shares.ts'
import { type Busy, UnderWay, type UnderWayOptions } from './under-way.ts'

export interface PoolOptions extends UnderWayOptions {
  readonly open: () => Promise<Connection>
  /** Connections at most. */
  readonly size: number
  /** Milliseconds a caller waits for a connection. */
  readonly acquireTimeoutMs: number
  /** Callers that may wait; further ones are refused at once. */
  readonly waitingLimit: number
  /** Processors of the database's machine, where they are known. */
  readonly cores?: number | undefined
}

export interface Work<Result> {
  /** @param claim names what the connection works on from now on, where `subject` does not */
  readonly run: (connection: Connection, claim: (subject: string | undefined) => void) => Promise<Result>
  /** What the work is about, of which no more than a share of the connections may be: a relation. */
  readonly subject?: string | undefined
  /** Whether the caller has disconnected; asked while the work waits and runs. */
  readonly isAbandoned?: (() => boolean) | undefined
}

interface Waiter {
  readonly since: number
  readonly subject: string | undefined
  readonly isAbandoned: (() => boolean) | undefined
  readonly resolve: (busy: Busy) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** A new connection that does not answer within this time is cut. */
const measureTimeoutMs = 3000
const roundTripsPerOpening = 3

/** While some connections work, a new one that could not be opened is not tried again at once. */
const openAgainMs = 100

/**
 * A bounded set of connections. Unlike a general pool it fails fast: waiting is bounded in number and time, a
 * database that is unavailable fails all callers at once, and a caller that disconnects gives its slot back.
 */
export class Pool {
  readonly #options: PoolOptions
  /** Last in, first out: few connections stay warm, the rest may idle out at the server. */
  readonly #idle: Connection[] = []
  readonly #underWay: UnderWay
  readonly #waiting: Waiter[] = []
  readonly #shares: Shares
  readonly #meter: PoolMeter
  #opening = 0
  #openFailedAt = Number.NEGATIVE_INFINITY
  /** When a connection was opened or given back. */
  #answeredAt = Number.NEGATIVE_INFINITY
  #patience: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  #drained: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#shares = new Shares(options.size)
    this.#underWay = new UnderWay(options)
    this.#meter = new PoolMeter(options.size, options.cores)
  }

  get limits(): Pick<PoolOptions, 'waitingLimit' | 'acquireTimeoutMs'> {
    return this.#options
  }

  /** Milliseconds to the database and back, without any work there; 0 on this machine. */
  get networkMs(): number {
    return this.#meter.networkMs
  }

  /** Which connections work on what. */
  get shares(): Pick<Shares, 'admits' | 'isAnyFull' | 'onRoom'> {
    return this.#shares
  }

  get stats(): { readonly busy: number; readonly idle: number; readonly waiting: number } {
    return { busy: this.#underWay.count, idle: this.#idle.length, waiting: this.#waiting.length }
  }

  /**
   * Runs the work on a connection of its own.
   *
   * @throws PoolExhausted when none became free in time
   * @throws ConnectionLost when Postgres is unavailable
   */
  async use<Result>({ run, subject, isAbandoned }: Work<Result>): Promise<Result> {
    const idle = this.#shares.admits(subject) && this.#hasRoom() ? this.#takeIdle() : undefined
    const busy =
      idle === undefined ? await this.#wait(subject, isAbandoned) : this.#begin(idle, subject, isAbandoned)
    let claimed = subject
    const claim = (next: string | undefined): void => {
      if (next === claimed) return
      this.#shares.enter(next)
      this.#shares.leave(claimed)
      claimed = next
      this.#beImpatient()
    }
    try {
      return await run(busy.connection, claim)
    } finally {
      const settling = this.#underWay.settling(busy)
      if (settling !== undefined) await settling
      this.#underWay.end(busy)
      this.#meter.addWork(performance.now() - busy.since)
      this.#shares.leave(claimed)
      this.#release(busy.connection)
    }
  }

  /** Lets the work in flight finish, then closes every connection. */
  close(): Promise<void> {
    this.#closing ??= this.#drain()
    return this.#closing
  }

  /** Fails what waits and what is in flight, and admits nothing more: for a database that does not answer. */
  disconnect(): void {
    void this.close()
    for (const { timer, reject } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(new ConnectionLost('the server is stopping'))
    }
    this.#underWay.disconnect()
    for (const connection of [...this.#idle]) connection.destroy()
    this.#noticeUnused()
  }

  async #drain(): Promise<void> {
    if (!this.#isUnused()) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    this.#underWay.close()
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()))
  }

  #isFull(): boolean {
    return this.#underWay.count + this.#idle.length + this.#opening >= this.#options.size
  }

  #isUnused(): boolean {
    return this.#underWay.count === 0 && this.#waiting.length === 0 && this.#opening === 0
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
  ): Busy {
    this.#shares.enter(subject)
    return this.#underWay.begin(connection, isAbandoned)
  }

  #wait(subject: string | undefined, isAbandoned: (() => boolean) | undefined): Promise<Busy> {
    if (this.#closing !== undefined) return Promise.reject(new ConnectionLost('the server is stopping'))
    if (this.#waiting.length >= this.#options.waitingLimit) {
      return Promise.reject(new PoolExhausted('too many requests wait for the database'))
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(this.#timeOut(waiter))
        this.#noticeUnused()
      }, this.#options.acquireTimeoutMs)
      const waiter: Waiter = { since: performance.now(), subject, isAbandoned, resolve, reject, timer }
      this.#waiting.push(waiter)
      if (this.#shares.admits(subject) && this.#hasRoom(this.#opening)) this.#grow()
      else this.#beImpatient()
    })
  }

  /** A database that has accepted no connection during the whole wait is unavailable, any other one is busy. */
  #timeOut({ since }: Waiter): Error {
    return this.#opening > 0 && this.#answeredAt < since
      ? new ConnectionLost('the database accepted no connection in time')
      : new PoolExhausted('no database connection became free in time')
  }

  /** While a request waits that another connection would serve. */
  #beImpatient(): void {
    if (this.#patience !== undefined || !this.#waiting.some(this.#isAdmitted)) return
    if (this.#idle.length === 0 && this.#isFull()) return
    const isTooSoon = this.#underWay.count > 0 && performance.now() - this.#openFailedAt < openAgainMs
    const delayMs = isTooSoon && this.#idle.length === 0 ? openAgainMs : this.#meter.sizing.growDelayMs
    this.#patience = setTimeout(() => this.#losePatience(), delayMs)
  }

  /** Those who have waited a moment in vain get another connection each, idle or new. */
  #losePatience(): void {
    this.#patience = undefined
    const now = performance.now()
    const { growDelayMs } = this.#meter.sizing
    const impatient = this.#waiting.filter(
      (waiter) => now - waiter.since >= growDelayMs && this.#isAdmitted(waiter),
    ).length
    for (let count = 0; count < impatient; count += 1) {
      const idle = this.#takeIdle()
      if (idle !== undefined) this.#release(idle)
      else if (!this.#grow()) break
    }
    this.#beImpatient()
  }

  readonly #isAdmitted = ({ subject }: Waiter): boolean => this.#shares.admits(subject)

  /** Opens a connection for those who wait, if there is room and need. */
  #grow(): boolean {
    if (this.#opening >= this.#waiting.length) return false
    if (this.#isFull()) return false
    if (this.#underWay.count > 0 && performance.now() - this.#openFailedAt < openAgainMs) return false
    this.#opening += 1
    this.#options.open().then(
      async (connection) => {
        await this.#measureRoundTrip(connection)
        this.#opening -= 1
        connection.onClose(() => this.#forget(connection))
        this.#release(connection)
      },
      (error) => {
        this.#opening -= 1
        this.#openFailedAt = performance.now()
        // While other connections work, this may be a momentary limit: those who wait may get one of them.
        if (this.#underWay.count > 0) {
          this.#beImpatient()
          return
        }
        for (const waiter of this.#waiting.splice(0)) {
          clearTimeout(waiter.timer)
          waiter.reject(error)
        }
        this.#noticeUnused()
      },
    )
    return true
  }

  /** Sends empty messages, a Sync alone; the first one also starts the session's process. */
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
      this.#grow()
    } else {
      this.#answeredAt = performance.now()
      const waiter = this.#hasRoom() || this.#isOverdue(this.#waiting[0]) ? this.#nextWaiter() : undefined
      if (waiter !== undefined) {
        waiter.resolve(this.#begin(connection, waiter.subject, waiter.isAbandoned))
      } else {
        this.#idle.push(connection)
        if (this.#waiting.length > 0) this.#beImpatient()
      }
    }
    this.#noticeUnused()
  }

  #noticeUnused(): void {
    if (this.#isUnused()) this.#drained?.()
  }

  /** Whether the database has processors for the work of another connection. */
  #hasRoom(opening = 0): boolean {
    const computing = this.#underWay.countBegunSince(performance.now() - longestWorkMs)
    return computing < this.#meter.sizing.eagerSize - opening
  }

  #isOverdue(waiter: Waiter | undefined): boolean {
    return waiter !== undefined && performance.now() - waiter.since >= this.#meter.sizing.growDelayMs
  }

  #nextWaiter(): Waiter | undefined {
    for (;;) {
      const index = this.#waiting.findIndex(this.#isAdmitted)
      const waiter = this.#waiting[index]
      if (waiter === undefined) return undefined
      this.#waiting.splice(index, 1)
      clearTimeout(waiter.timer)
      if (waiter.isAbandoned?.() !== true) return waiter
      waiter.reject(new ConnectionLost('the caller has gone'))
    }
  }

  #forget(connection: Connection): void {
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
  }
}
