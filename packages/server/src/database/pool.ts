import type { Connection } from './connection.ts'
import { ConnectionLost, PoolExhausted } from './failures.ts'
import { Shares } from './shares.ts'

export interface PoolOptions {
  readonly open: () => Promise<Connection>
  /** Connections at most. */
  readonly size: number
  /** Milliseconds a caller waits for a connection. */
  readonly acquireTimeoutMs: number
  /** Callers that may wait; further ones are refused at once. */
  readonly waitingLimit: number
  /** Milliseconds after which work that has not answered is given up and its connection cut. */
  readonly workTimeoutMs: number
  /** Stops the statement that runs on a connection whose caller has gone; never rejects. */
  readonly cancel: (connection: Connection) => Promise<void>
  /** Of connections that have been silent for seconds, those that will never answer; never rejects. */
  readonly findDead: (suspects: readonly Connection[]) => Promise<readonly Connection[]>
}

export interface Work<Result> {
  /** @param claim names what the connection works on from now on, where `subject` does not */
  readonly run: (connection: Connection, claim: (subject: string | undefined) => void) => Promise<Result>
  /** What the work is about, of which no more than a share of the connections may be: a relation. */
  readonly subject?: string | undefined
  /** Whether the caller has gone; asked while the work waits and runs. */
  readonly isAbandoned?: (() => boolean) | undefined
}

interface Waiter {
  readonly since: number
  readonly subject: string | undefined
  readonly isAbandoned: (() => boolean) | undefined
  readonly resolve: (checkedOut: CheckedOut) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

interface Busy {
  readonly since: number
  subject: string | undefined
  readonly isAbandoned: (() => boolean) | undefined
  /** While the statement is told to stop; the connection is reused only after that call returned. */
  cancelled: Promise<void> | undefined
  /** Bytes the connection had carried when it was last looked at, which takes its time and is not done at once. */
  traffic: number | undefined
  /** When it last carried any, or was known to be alive although it did not. */
  knownAliveAt: number
}

interface CheckedOut {
  readonly connection: Connection
  readonly busy: Busy
}

/**
 * As many connections as keep a small database server busy with short statements. More of them at once only make
 * it switch between processes (measured on two cores: 16 reach three quarters of what 6 do), so beyond this
 * number a caller waits a moment for one of them before it takes another.
 */
const eagerSize = 6
const patienceMs = 1

/** Silence on a busy connection after which we ask whether it is alive. */
const suspicionMs = 3000
const sweepMs = 250
/** While some connections work, a new one that could not be opened is not tried again at once. */
const openAgainMs = 100

/**
 * A bounded set of connections. Unlike a general pool it fails fast: waiting is bounded in number and time, a
 * database that is away fails everybody at once, and a caller that has gone gives its slot back.
 */
export class Pool {
  readonly #options: PoolOptions
  /** Last in, first out: few connections stay warm, the rest may idle out at the server. */
  readonly #idle: Connection[] = []
  readonly #busy = new Map<Connection, Busy>()
  readonly #waiting: Waiter[] = []
  readonly #shares: Shares
  readonly #sweeper: NodeJS.Timeout
  #opening = 0
  #openFailedAt = Number.NEGATIVE_INFINITY
  #isLooking = false
  #patience: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  #drained: (() => void) | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#shares = new Shares(options.size)
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref()
  }

  get limits(): Pick<PoolOptions, 'waitingLimit' | 'acquireTimeoutMs'> {
    return this.#options
  }

  /** Which connections work on what. */
  get shares(): Pick<Shares, 'admits' | 'isAnyFull' | 'onRoom'> {
    return this.#shares
  }

  get stats(): { readonly busy: number; readonly idle: number; readonly waiting: number } {
    return { busy: this.#busy.size, idle: this.#idle.length, waiting: this.#waiting.length }
  }

  /**
   * Runs the work on a connection of its own.
   *
   * @throws PoolExhausted when none became free in time
   * @throws ConnectionLost when Postgres is away
   */
  async use<Result>({ run, subject, isAbandoned }: Work<Result>): Promise<Result> {
    const idle = this.#shares.admits(subject) ? this.#takeIdle() : undefined
    const { connection, busy } =
      idle === undefined ? await this.#wait(subject, isAbandoned) : this.#checkOut(idle, subject, isAbandoned)
    try {
      return await run(connection, (next) => this.#claim(busy, next))
    } finally {
      // After an error the end of the message is still to come, or that of the connection.
      if (!connection.isReady) await connection.whenReady()
      if (busy.cancelled !== undefined) await busy.cancelled
      this.#busy.delete(connection)
      this.#shares.leave(busy.subject)
      this.#release(connection)
    }
  }

  /** Lets the work under way finish, then closes every connection. */
  close(): Promise<void> {
    this.#closing ??= this.#drain()
    return this.#closing
  }

  async #drain(): Promise<void> {
    if (!this.#isUnused()) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    clearInterval(this.#sweeper)
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()))
  }

  #isFull(): boolean {
    return this.#busy.size + this.#idle.length + this.#opening >= this.#options.size
  }

  #isUnused(): boolean {
    return this.#busy.size === 0 && this.#waiting.length === 0 && this.#opening === 0
  }

  #takeIdle(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isOpen) return connection
    }
    return undefined
  }

  #checkOut(
    connection: Connection,
    subject: string | undefined,
    isAbandoned: (() => boolean) | undefined,
  ): CheckedOut {
    const now = performance.now()
    this.#shares.enter(subject)
    const busy: Busy = {
      since: now,
      subject,
      isAbandoned,
      cancelled: undefined,
      traffic: undefined,
      knownAliveAt: now,
    }
    this.#busy.set(connection, busy)
    return { connection, busy }
  }

  #claim(busy: Busy, subject: string | undefined): void {
    const before = busy.subject
    if (before === subject) return
    busy.subject = subject
    this.#shares.enter(subject)
    this.#shares.leave(before)
    this.#beImpatient()
  }

  #wait(subject: string | undefined, isAbandoned: (() => boolean) | undefined): Promise<CheckedOut> {
    if (this.#closing !== undefined) return Promise.reject(new ConnectionLost('the server is stopping'))
    if (this.#waiting.length >= this.#options.waitingLimit) {
      return Promise.reject(new PoolExhausted('too many requests wait for the database'))
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(new PoolExhausted('no database connection became free in time'))
        this.#noticeUnused()
      }, this.#options.acquireTimeoutMs)
      const waiter: Waiter = { since: performance.now(), subject, isAbandoned, resolve, reject, timer }
      this.#waiting.push(waiter)
      if (this.#busy.size + this.#opening < eagerSize && this.#shares.admits(subject)) this.#grow()
      else this.#beImpatient()
    })
  }

  /** While somebody waits whom another connection would help. */
  #beImpatient(): void {
    if (this.#patience !== undefined || !this.#waiting.some(this.#isAdmitted)) return
    if (this.#idle.length === 0 && this.#isFull()) return
    const isTooSoon = this.#busy.size > 0 && performance.now() - this.#openFailedAt < openAgainMs
    const delayMs = isTooSoon && this.#idle.length === 0 ? openAgainMs : patienceMs
    this.#patience = setTimeout(() => this.#losePatience(), delayMs)
  }

  /** Those who have waited a moment in vain get another connection each, idle or new. */
  #losePatience(): void {
    this.#patience = undefined
    const now = performance.now()
    const impatient = this.#waiting.filter(
      (waiter) => now - waiter.since >= patienceMs && this.#isAdmitted(waiter),
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
    if (this.#busy.size > 0 && performance.now() - this.#openFailedAt < openAgainMs) return false
    this.#opening += 1
    this.#options.open().then(
      (connection) => {
        this.#opening -= 1
        connection.onClose(() => this.#forget(connection))
        this.#release(connection)
      },
      (error) => {
        this.#opening -= 1
        this.#openFailedAt = performance.now()
        // While other connections work, this may be a momentary limit: those who wait may get one of them.
        if (this.#busy.size > 0) {
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

  #release(connection: Connection): void {
    if (!connection.isOpen) {
      this.#grow()
    } else {
      const waiter = this.#isBusyEnough() ? undefined : this.#nextWaiter()
      if (waiter !== undefined) {
        waiter.resolve(this.#checkOut(connection, waiter.subject, waiter.isAbandoned))
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

  /** Whether more than enough connections work already and nobody has waited for long. */
  #isBusyEnough(): boolean {
    const [first] = this.#waiting
    return this.#busy.size >= eagerSize && first !== undefined && performance.now() - first.since < patienceMs
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

  #sweep(): void {
    const now = performance.now()
    const suspects: Connection[] = []
    for (const [connection, busy] of this.#busy) {
      if (now - busy.since > this.#options.workTimeoutMs) connection.destroy()
      else if (busy.isAbandoned?.() === true) this.#cancel(connection, busy)
      const { traffic } = connection
      if (traffic !== busy.traffic || connection.isReady) Object.assign(busy, { traffic, knownAliveAt: now })
      if (now - busy.knownAliveAt > suspicionMs) suspects.push(connection)
    }
    if (suspects.length > 0 && !this.#isLooking) void this.#lookAfter(suspects)
  }

  /** Again at each sweep: Postgres ignores what arrives before it has begun the statement. */
  #cancel(connection: Connection, busy: Busy): void {
    busy.cancelled ??= this.#options.cancel(connection).finally(() => {
      busy.cancelled = undefined
    })
  }

  async #lookAfter(suspects: readonly Connection[]): Promise<void> {
    this.#isLooking = true
    const checkedOut = suspects.map((connection) => ({ connection, busy: this.#busy.get(connection) }))
    const dead = new Set(await this.#options.findDead(suspects))
    this.#isLooking = false
    for (const { connection, busy } of checkedOut) {
      // It may have answered in the meantime and serve somebody else.
      if (busy === undefined || this.#busy.get(connection) !== busy) continue
      if (dead.has(connection)) connection.destroy()
      else busy.knownAliveAt = performance.now()
    }
  }
}
