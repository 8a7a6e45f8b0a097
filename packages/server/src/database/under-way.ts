import type { Connection } from './connection.ts'

export interface UnderWayOptions {
  /** Milliseconds after which work that has not answered is given up and its connection cut. */
  readonly workTimeoutMs: number
  /** Stops the statement that runs on a connection whose caller has disconnected; never rejects. */
  readonly cancel: (connection: Connection) => Promise<void>
  /** Of connections that have been silent for seconds, those that will never answer; never rejects. */
  readonly findDead: (suspects: readonly Connection[]) => Promise<readonly Connection[]>
}

/** Work that has a connection. */
export interface Busy {
  readonly connection: Connection
  readonly since: number
  readonly isAbandoned: (() => boolean) | undefined
  /** While the statement is being cancelled; the connection is reused only after that call returned. */
  cancelled: Promise<void> | undefined
  /** Bytes the connection had carried when it was last looked at, which takes its time and is not done at once. */
  traffic: number | undefined
  /** When it last carried any, or was known to be alive although it did not. */
  knownAliveAt: number
}

/** Silence on a busy connection after which we ask whether it is alive. */
const suspicionMs = 3000
const sweepMs = 250

/** Looks after work until it is done: what takes too long, has no caller left, or cannot end, is ended. */
export class UnderWay {
  readonly #options: UnderWayOptions
  readonly #busy = new Set<Busy>()
  readonly #sweeper: NodeJS.Timeout
  #isLooking = false

  constructor(options: UnderWayOptions) {
    this.#options = options
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref()
  }

  get count(): number {
    return this.#busy.size
  }

  /** @param since as of `performance.now()` */
  countBegunSince(since: number): number {
    let older = 0
    // In the order in which they began.
    for (const busy of this.#busy) {
      if (busy.since >= since) break
      older += 1
    }
    return this.#busy.size - older
  }

  begin(connection: Connection, isAbandoned: (() => boolean) | undefined): Busy {
    const now = performance.now()
    const busy: Busy = {
      connection,
      since: now,
      isAbandoned,
      cancelled: undefined,
      traffic: undefined,
      knownAliveAt: now,
    }
    this.#busy.add(busy)
    return busy
  }

  /** What to wait for before the connection can serve another caller; mostly nothing. */
  settling(busy: Busy): Promise<void> | undefined {
    return busy.connection.isReady && busy.cancelled === undefined ? undefined : this.#settle(busy)
  }

  end(busy: Busy): void {
    this.#busy.delete(busy)
  }

  /** Ends all work with its connection. */
  disconnect(): void {
    for (const { connection } of this.#busy) connection.destroy()
  }

  /** Looks no more; for when nothing is in flight any longer. */
  close(): void {
    clearInterval(this.#sweeper)
  }

  async #settle(busy: Busy): Promise<void> {
    // After an error the end of the message is still to come, or that of the connection.
    await busy.connection.whenReady()
    await busy.cancelled
  }

  #sweep(): void {
    const now = performance.now()
    const suspects: Busy[] = []
    for (const busy of this.#busy) {
      const { connection } = busy
      if (now - busy.since > this.#options.workTimeoutMs) connection.destroy()
      else if (busy.isAbandoned?.() === true) this.#cancel(busy)
      const { traffic } = connection
      if (traffic !== busy.traffic || connection.isReady) Object.assign(busy, { traffic, knownAliveAt: now })
      if (now - busy.knownAliveAt > suspicionMs) suspects.push(busy)
    }
    if (suspects.length > 0 && !this.#isLooking) void this.#lookAfter(suspects)
  }

  /** Again at each sweep: Postgres ignores what arrives before it has begun the statement. */
  #cancel(busy: Busy): void {
    busy.cancelled ??= this.#options.cancel(busy.connection).finally(() => {
      busy.cancelled = undefined
    })
  }

  async #lookAfter(suspects: readonly Busy[]): Promise<void> {
    this.#isLooking = true
    const dead = new Set(await this.#options.findDead(suspects.map(({ connection }) => connection)))
    this.#isLooking = false
    for (const busy of suspects) {
      // It may have answered in the meantime and serve another caller.
      if (!this.#busy.has(busy)) continue
      if (dead.has(busy.connection)) busy.connection.destroy()
      else busy.knownAliveAt = performance.now()
    }
  }
}
