import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ChangeAction } from '../../database/change-log.ts'
import { Poller } from '../../database/poller.ts'
import { sql } from '../../database/sql.ts'
import type { SystemDatabase } from '../../database/system-database.ts'
import type { InterestSource } from '../events/index.ts'

/** How often each node reads what webhooks listen to. */
const pollMs = 150
/** Without news for so long, a node takes it that everything is listened to. */
const staleMs = 450

/** Events by action, tables; empty: all. */
interface Interest {
  readonly events: readonly string[]
  readonly tables: readonly string[]
}

/**
 * What the enabled webhooks listen to. Every node knows of a change, or takes it that everything is listened to, by the
 * time that {@link settled} resolves.
 */
export class WebhookInterest implements InterestSource {
  readonly name = 'webhooks'
  readonly #database: SystemDatabase
  readonly #poller: Poller
  #interests: readonly Interest[] = []
  #readAt = Number.NEGATIVE_INFINITY

  constructor(database: SystemDatabase, log: Logger) {
    this.#database = database
    const read = () => this.refresh()
    this.#poller = new Poller({ what: 'what webhooks listen to', everyMs: pollMs, read, log })
  }

  isInterested(collection: string, action: ChangeAction): boolean {
    if (performance.now() - this.#readAt > staleMs) return true
    return this.#interests.some(
      ({ events, tables }) => events.includes(action) && (tables.length === 0 || tables.includes(collection)),
    )
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
    const interests = await this.#database.many<{ events: string[]; tables: string[] }>(
      sql`select events, tables from basalt.webhooks where enabled`,
    )
    // A read that began later knows better.
    if (begunAt < this.#readAt) return
    this.#interests = interests
    this.#readAt = begunAt
  }

  /** After a commit: resolves when it is in force on every node. */
  async settled(): Promise<void> {
    await Promise.all([this.refresh(), delay(staleMs)])
  }
}
