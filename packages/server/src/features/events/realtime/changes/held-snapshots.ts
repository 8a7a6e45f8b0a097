import type { Logger } from 'pino'
import type { Connection } from '../../../../database/connection/connection.ts'
import { messageOf } from '../../../../lib/errors.ts'

/** Connections at most: the current snapshot, the next one, and those that slow policies still need. */
const connectionLimit = 4
/** After a failure to hold one, the next try waits. */
const retryMs = 1000

const begin =
  'begin isolation level repeatable read read only; select pg_current_snapshot()::text as snapshot'

/** The state of the database at one moment, which can be read until all its users have released it. */
export class HeldSnapshot {
  /** As `pg_current_snapshot` prints it. */
  readonly text: string
  readonly connection: Connection
  readonly #onRelease: (snapshot: HeldSnapshot) => void
  #users = 1
  #exported: Promise<string> | undefined

  constructor(text: string, connection: Connection, onRelease: (snapshot: HeldSnapshot) => void) {
    this.text = text
    this.connection = connection
    this.#onRelease = onRelease
  }

  /** False when its connection has broken: nothing can be read in it any more. */
  get isReadable(): boolean {
    return this.connection.isOpen
  }

  /** A name for transactions that are to see the same (`set transaction snapshot`). */
  exported(): Promise<string> {
    this.#exported ??= this.connection
      .script('select pg_export_snapshot() as name')
      .then(([result]) => result?.rows[0]?.name)
    return this.#exported
  }

  /** Adds a user. */
  retain(): void {
    this.#users += 1
  }

  release(): void {
    this.#users -= 1
    if (this.#users === 0) this.#onRelease(this)
  }
}

/** Holds states of the database: each is that of an open transaction, which locks nothing. */
export class HeldSnapshots {
  readonly #open: () => Promise<Connection>
  readonly #log: Logger
  readonly #held = new Set<HeldSnapshot>()
  /** The connection of the snapshot released last; the next one ends its transaction in the same round trip. */
  #spare: Connection | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  /** @param open connects beside the pools: a transaction stays open for as long as streams are */
  constructor(open: () => Promise<Connection>, log: Logger) {
    this.#open = open
    this.#log = log
  }

  /** Holds the state of now. @returns undefined when it cannot be held */
  async take(): Promise<HeldSnapshot | undefined> {
    if (performance.now() - this.#failedAt < retryMs) return undefined
    const spare = this.#spare?.isOpen === true ? this.#spare : undefined
    this.#spare = undefined
    if (spare === undefined && this.#held.size >= connectionLimit) return undefined
    let connection = spare
    try {
      connection ??= await this.#open()
      const results = await connection.script(spare === undefined ? begin : `rollback; ${begin}`)
      const text = results.at(-1)?.rows[0]?.snapshot
      const held = new HeldSnapshot(text, connection, (released) => this.#release(released))
      this.#held.add(held)
      return held
    } catch (error) {
      connection?.destroy()
      this.#failedAt = performance.now()
      this.#log.warn(
        { reason: messageOf(error) },
        'failed to hold a snapshot of the database; streams may receive gaps instead of deletes; retrying in 1 s',
      )
      return undefined
    }
  }

  async close(): Promise<void> {
    const connections = [...this.#held].map(({ connection }) => connection)
    if (this.#spare !== undefined) connections.push(this.#spare)
    this.#held.clear()
    this.#spare = undefined
    await Promise.all(connections.map((connection) => connection.close()))
  }

  #release(held: HeldSnapshot): void {
    if (!this.#held.delete(held)) return
    if (this.#spare === undefined) this.#spare = held.connection
    else void held.connection.close()
    if (this.#held.size > 0) return
    // Not needed for now: a transaction must not stay open for nothing.
    void this.#spare.close()
    this.#spare = undefined
  }
}
