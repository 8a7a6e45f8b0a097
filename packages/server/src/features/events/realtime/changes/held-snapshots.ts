import type { Logger } from 'pino'
import type { Connection } from '../../../../database/connection.ts'
import { messageOf } from '../../../../lib/errors.ts'

/** Connections at most: the current snapshot, the next one, and those that slow policies still need. */
const connectionLimit = 4
/** After a failure to hold one, the next try waits. */
const retryMs = 1000

/** The state of the database at one moment, which can be read as long as it is held. */
export interface HeldSnapshot {
  /** As `pg_current_snapshot` prints it. */
  readonly text: string
  /** A name for transactions that are to see the same (`set transaction snapshot`). */
  exported(): Promise<string>
}

class Held implements HeldSnapshot {
  readonly text: string
  readonly connection: Connection
  /** Whether the follower is at it. */
  isCurrent = true
  /** Work that still reads it. */
  users = 0
  #exported: Promise<string> | undefined

  constructor(text: string, connection: Connection) {
    this.text = text
    this.connection = connection
  }

  exported(): Promise<string> {
    this.#exported ??= this.connection
      .script('select pg_export_snapshot() as name')
      .then(([result]) => result?.rows[0]?.name)
    return this.#exported
  }
}

/**
 * Keeps the state at the position of a follower readable: each snapshot is that of an open transaction, which locks
 * nothing. The next one is taken before the log is read up to it; then this one is released.
 */
export class HeldSnapshots {
  readonly #open: () => Promise<Connection>
  readonly #log: Logger
  readonly #held = new Set<Held>()
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
      const held = new Held(results.at(-1)?.rows[0]?.snapshot, connection)
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

  /** The snapshot with this text, if it is held. */
  at(text: string): HeldSnapshot | undefined {
    return [...this.#held].findLast((held) => held.text === text && held.isCurrent && held.connection.isOpen)
  }

  /** Releases all others, each when the work that reads it is done. */
  keepOnly(...snapshots: readonly (HeldSnapshot | undefined)[]): void {
    for (const held of this.#held) {
      if (snapshots.includes(held)) continue
      held.isCurrent = false
      this.#release(held)
    }
    if (this.#held.size > 0 || this.#spare === undefined) return
    // Not needed for now: a transaction must not stay open for nothing.
    void this.#spare.close()
    this.#spare = undefined
  }

  /** Keeps the snapshot until the work is done. */
  async during(snapshot: HeldSnapshot | undefined, work: Promise<unknown>): Promise<void> {
    const held = [...this.#held].find((each) => each === snapshot)
    if (held === undefined) return
    held.users += 1
    await work.catch(() => undefined)
    held.users -= 1
    this.#release(held)
  }

  async close(): Promise<void> {
    const connections = [...this.#held].map(({ connection }) => connection)
    if (this.#spare !== undefined) connections.push(this.#spare)
    this.#held.clear()
    this.#spare = undefined
    await Promise.all(connections.map((connection) => connection.close()))
  }

  #release(held: Held): void {
    if (held.isCurrent || held.users > 0 || !this.#held.delete(held)) return
    if (this.#spare === undefined) this.#spare = held.connection
    else void held.connection.close()
  }
}

const begin =
  'begin isolation level repeatable read read only; select pg_current_snapshot()::text as snapshot'
