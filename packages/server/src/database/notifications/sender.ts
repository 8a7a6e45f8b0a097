import type { Timer } from '../../lib/timer.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { notificationChannel } from './listener.ts'

/** Pause between two notifications, which every node reads. */
const notifyAgainMs = 20

/**
 * Sender of topics to the other nodes, by NOTIFY in a transaction of its own. Transactions with NOTIFY commit
 * one at a time (PostgreSQL, NOTIFY). Topics of 20 ms are sent together.
 */
export class NotificationSender {
  readonly #database: Pick<Queryable, 'one'>
  readonly #timer: Timer
  readonly #unsent = new Set<string>()
  #sentAt = Number.NEGATIVE_INFINITY
  #sending: Promise<void> | undefined
  #isStopped = false

  constructor(database: Pick<Queryable, 'one'>, timer: Timer) {
    this.#database = database
    this.#timer = timer
  }

  /** Sends a topic. Never waits and never fails: the next poll of the other nodes finds a lost one. */
  send(topic: string): void {
    this.#unsent.add(topic)
    this.#sendNext()
  }

  /** Ends after the work in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#sending
  }

  #sendNext(): void {
    if (this.#sending !== undefined) return
    this.#sending = this.#send().finally(() => {
      this.#sending = undefined
      if (this.#unsent.size > 0 && !this.#isStopped) this.#sendNext()
    })
  }

  async #send(): Promise<void> {
    const delayMs = this.#sentAt + notifyAgainMs - this.#timer.now()
    if (delayMs > 0) await new Promise<void>((resolve) => void this.#timer.after(delayMs, resolve))
    const topics = [...this.#unsent]
    this.#unsent.clear()
    this.#sentAt = this.#timer.now()
    const statement = sql`
      select count(pg_notify(${notificationChannel}, topic))::text as sent from unnest(${topics}::text[]) topic`
    await this.#database.one(statement).catch(() => undefined)
  }
}
