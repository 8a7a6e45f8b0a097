import type { Timer } from '../../lib/timer.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { notificationChannel } from './listener.ts'

/** Between two notifications, which every node reads. */
const notifyAgainMs = 20

/**
 * Notifies the other nodes of topics, by NOTIFY in a transaction of its own: transactions that NOTIFY commit one after the
 * other (PostgreSQL, NOTIFY). What comes within 20 ms is sent together.
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

  /** Never waits and never fails: what is lost is found by the next look of the others. */
  send(topic: string): void {
    this.#unsent.add(topic)
    this.#sendNext()
  }

  /** Ends with what is in flight. */
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
