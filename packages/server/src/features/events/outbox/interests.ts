import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ChangeAction } from '../../../database/change-log.ts'
import { Poller } from '../../../database/poller.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'

/** How often each node reads who listens. */
const pollMs = 150
/** Without news for so long, a node takes it that everything is listened to. */
const staleMs = 450

/** Where one action has listeners. */
interface Heard {
  readonly everywhere: boolean
  readonly tables: ReadonlySet<string>
}

/**
 * Who listens to which changes (`basalt.event_interests`). Every node knows of a change, or takes it that everything is
 * listened to, by the time that {@link settled} resolves.
 */
export class Interests {
  readonly #database: SystemDatabase
  readonly #poller: Poller
  #heard: ReadonlyMap<string, Heard> = new Map()
  #readAt = Number.NEGATIVE_INFINITY

  constructor(database: SystemDatabase, log: Logger) {
    this.#database = database
    const read = () => this.refresh()
    this.#poller = new Poller({ what: 'who listens to changes', everyMs: pollMs, read, log })
  }

  /** Answered from memory, for every write. When in doubt true: an event without a consumer costs only its row. */
  has(collection: string, action: ChangeAction): boolean {
    if (performance.now() - this.#readAt > staleMs) return true
    const heard = this.#heard.get(action)
    return heard !== undefined && (heard.everywhere || heard.tables.has(collection))
  }

  start(): Promise<void> {
    return this.#poller.start()
  }

  stop(): void {
    this.#poller.stop()
  }

  /** In force on this node at once. */
  async refresh(): Promise<void> {
    const begunAt = performance.now()
    // As they stand: to unnest arrays in here made the planner expect so many rows of tables that were never analysed
    // that it launched parallel workers, for every read.
    const rows = await this.#database.many<{ tables: string[]; actions: string[] }>(
      sql`select tables, actions from basalt.event_interests`,
    )
    // A read that began later knows better.
    if (begunAt < this.#readAt) return
    const heard = new Map<string, { everywhere: boolean; tables: Set<string> }>()
    for (const { tables, actions } of rows) {
      for (const action of actions) {
        const known = heard.get(action) ?? { everywhere: false, tables: new Set() }
        heard.set(action, known)
        if (tables.length === 0) known.everywhere = true
        for (const table of tables) known.tables.add(table)
      }
    }
    this.#heard = heard
    this.#readAt = begunAt
  }

  /** After a commit: resolves when it is in force on every node. */
  async settled(): Promise<void> {
    await Promise.all([this.refresh(), delay(staleMs)])
  }
}
