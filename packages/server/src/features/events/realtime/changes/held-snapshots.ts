import type { Logger } from 'pino'
import type { Connection } from '../../../../database/connection/connection.ts'
import { messageOf } from '../../../../lib/errors.ts'

/** Maximum number of connections: for the current snapshot, the next one, and those that slow policies still need. */
const connectionLimit = 4
/** Milliseconds to wait after a failure before the next try. */
const retryMs = 1000

const begin =
  'begin isolation level repeatable read read only; ' +
  'select pg_current_snapshot()::text as snapshot, basalt.timeline() as timeline'

/** State of the database at one moment, readable until all its users have released it. */
export class HeldSnapshot {
  /** Snapshot as `pg_current_snapshot` prints it. */
  readonly text: string
  readonly timeline: number | undefined
  readonly connection: Connection
  readonly #onRelease: (snapshot: HeldSnapshot) => void
  #users = 1
  #exported: Promise<string> | undefined

  constructor(
    { snapshot, timeline }: { readonly snapshot: string; readonly timeline: number | null },
    connection: Connection,
    onRelease: (snapshot: HeldSnapshot) => void,
  ) {
    this.text = snapshot
    this.timeline = timeline ?? undefined
    this.connection = connection
    this.#onRelease = onRelease
  }

  /** True while its connection is open. After that nothing can be read in the snapshot. */
  get isReadable(): boolean {
    return this.connection.isOpen
  }

  /**
   * Exports the snapshot. Returns a name with which other transactions see the same state (`set transaction snapshot`).
   */
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

/** Holder of database states. Each is the state of an open transaction, which locks nothing. */
export class HeldSnapshots {
  readonly #open: () => Promise<Connection>
  readonly #log: Logger
  readonly #held = new Set<HeldSnapshot>()
  /** Connection of the snapshot that was released last. The next one ends its transaction in the same round trip. */
  #spare: Connection | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  /** @param open opens a connection outside the pools, because a transaction stays open as long as streams do */
  constructor(open: () => Promise<Connection>, log: Logger) {
    this.#open = open
    this.#log = log
  }

  /** Acquires a snapshot of the current state. @returns undefined if it cannot be held */
  async acquire(): Promise<HeldSnapshot | undefined> {
    if (performance.now() - this.#failedAt < retryMs) return undefined
    const spare = this.#spare?.isOpen === true ? this.#spare : undefined
    this.#spare = undefined
    if (spare === undefined && this.#held.size >= connectionLimit) return undefined
    let connection = spare
    try {
      connection ??= await this.#open()
      const results = await connection.script(spare === undefined ? begin : `rollback; ${begin}`)
      const held = new HeldSnapshot(results.at(-1)?.rows[0], connection, (released) =>
        this.#release(released),
      )
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
    // The snapshots are not needed for now, and a transaction must not stay open for nothing.
    void this.#spare.close()
    this.#spare = undefined
  }
}
