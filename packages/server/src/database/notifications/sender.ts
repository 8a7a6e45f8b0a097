import type { Timer } from '../../lib/timer.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { notificationChannel } from './listener.ts'

/** Pause between two messages, which every receiver reads. */
const sendAgainMs = 20

/**
 * Notifies the other nodes, in a transaction of its own. Transactions with NOTIFY commit one at a time (PostgreSQL,
 * NOTIFY).
 */
export async function notify(database: Pick<Queryable, 'one'>, topics: readonly string[]): Promise<void> {
  await database.one(sql`
    select count(pg_notify(${notificationChannel}, topic))::text as sent from unnest(${topics}::text[]) topic`)
}

/** Sender of topics. Topics of 20 ms are sent together. */
export class TopicSender {
  readonly #deliver: (topics: readonly string[]) => Promise<void> | void
  readonly #timer: Timer
  readonly #unsent = new Set<string>()
  #sentAt = Number.NEGATIVE_INFINITY
  #sending: Promise<void> | undefined
  #isStopped = false

  constructor(deliver: (topics: readonly string[]) => Promise<void> | void, timer: Timer) {
    this.#deliver = deliver
    this.#timer = timer
  }

  /** Sends a topic. Never waits and never fails: the next poll of the receivers finds a lost one. */
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
    const delayMs = this.#sentAt + sendAgainMs - this.#timer.now()
    if (delayMs > 0) await new Promise<void>((resolve) => void this.#timer.after(delayMs, resolve))
    const topics = [...this.#unsent]
    this.#unsent.clear()
    this.#sentAt = this.#timer.now()
    try {
      await this.#deliver(topics)
    } catch {
      // The receivers find the changes in their next poll.
    }
  }
}
