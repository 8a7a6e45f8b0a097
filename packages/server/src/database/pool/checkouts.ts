import type { Connection } from '../connection/connection.ts'

export interface CheckoutOptions {
  /** Milliseconds after which work without a result is aborted and its connection destroyed. */
  readonly workTimeoutMs: number
  /** Cancels the statement on a connection whose caller has disconnected; never rejects. */
  readonly cancel: (connection: Connection) => Promise<void>
  /** Returns the dead connections among those that have been silent for seconds; never rejects. */
  readonly findDead: (silent: readonly Connection[]) => Promise<readonly Connection[]>
}

/** Connection in use. */
export interface Checkout {
  readonly connection: Connection
  readonly since: number
  readonly isAbandoned: (() => boolean) | undefined
  /** Milliseconds after which the work is aborted. */
  limitMs: number
  /** Pending cancellation of the statement; the connection is reused only after it has returned. */
  cancelled: Promise<void> | undefined
  /** Bytes that the connection had carried at the last check; undefined before the first. */
  traffic: number | undefined
  /** Time at which the connection last carried bytes, or was known to be alive without any. */
  knownAliveAt: number
}

/** Silence of a connection in use after which it is checked. */
const silenceMs = 3000
const sweepMs = 250

/** Connections in use. A checkout that takes too long, has lost its caller or cannot end is ended. */
export class Checkouts {
  readonly #options: CheckoutOptions
  /**
   * Checkouts in the order in which they began. They are not a Set: V8 replaces the table of a Set that changes
   * constantly. The replaced tables, in the old generation, keep alive through scavenges what they held, so
   * that every result was copied twice.
   */
  readonly #inUse: Checkout[] = []
  readonly #sweeper: NodeJS.Timeout
  #isChecking = false

  constructor(options: CheckoutOptions) {
    this.#options = options
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref()
  }

  get count(): number {
    return this.#inUse.length
  }

  /** Counts the checkouts since a time. @param since as of `performance.now()` */
  countBegunSince(since: number): number {
    const older = this.#inUse.findIndex((checkout) => checkout.since >= since)
    return older === -1 ? 0 : this.#inUse.length - older
  }

  begin(connection: Connection, isAbandoned: (() => boolean) | undefined): Checkout {
    const now = performance.now()
    const checkout: Checkout = {
      connection,
      since: now,
      isAbandoned,
      limitMs: this.#options.workTimeoutMs,
      cancelled: undefined,
      traffic: undefined,
      knownAliveAt: now,
    }
    this.#inUse.push(checkout)
    return checkout
  }

  /** Returns a promise that the connection must await before it serves another caller; mostly undefined. */
  settling(checkout: Checkout): Promise<void> | undefined {
    return checkout.connection.isReady && checkout.cancelled === undefined
      ? undefined
      : this.#settle(checkout)
  }

  end(checkout: Checkout): void {
    const index = this.#inUse.indexOf(checkout)
    if (index !== -1) this.#inUse.splice(index, 1)
  }

  /** Ends all work and destroys its connections. */
  disconnect(): void {
    for (const { connection } of this.#inUse) connection.destroy()
  }

  /** Ends the checks, when nothing is in flight any longer. */
  close(): void {
    clearInterval(this.#sweeper)
  }

  async #settle(checkout: Checkout): Promise<void> {
    // After an error the rest of the message is still on its way, or the end of the connection.
    await checkout.connection.whenReady()
    await checkout.cancelled
  }

  #sweep(): void {
    const now = performance.now()
    const silent: Checkout[] = []
    for (const checkout of this.#inUse) {
      const { connection } = checkout
      if (now - checkout.since > checkout.limitMs) connection.destroy()
      else if (checkout.isAbandoned?.() === true) this.#cancel(checkout)
      const { traffic } = connection
      if (traffic !== checkout.traffic || connection.isReady)
        Object.assign(checkout, { traffic, knownAliveAt: now })
      if (now - checkout.knownAliveAt > silenceMs) silent.push(checkout)
    }
    if (silent.length > 0 && !this.#isChecking) void this.#checkSilent(silent)
  }

  /**
   * Cancels the statement, again at each sweep: Postgres ignores a cancellation that arrives before it has
   * started the statement.
   */
  #cancel(checkout: Checkout): void {
    checkout.cancelled ??= this.#options.cancel(checkout.connection).finally(() => {
      checkout.cancelled = undefined
    })
  }

  async #checkSilent(silent: readonly Checkout[]): Promise<void> {
    this.#isChecking = true
    const dead = new Set(await this.#options.findDead(silent.map(({ connection }) => connection)))
    this.#isChecking = false
    for (const checkout of silent) {
      // The connection may have returned its result in the meantime and serve another caller.
      if (!this.#inUse.includes(checkout)) continue
      if (dead.has(checkout.connection)) checkout.connection.destroy()
      else checkout.knownAliveAt = performance.now()
    }
  }
}
