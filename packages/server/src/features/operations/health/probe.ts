import type { Connection } from '../../../database/connection/connection.ts'
import { isRefusal } from '../../../database/connection/half-open.ts'
import { sql } from '../../../database/sql.ts'
import { whenLate } from '../../../lib/timer.ts'

/** Longest time a database that is well takes to answer anything. */
const answerMs = 2000

/**
 * Asks the database whether it answers, on a connection of its own: requests may take every connection of the pools while
 * it is well, and a node that then says otherwise is taken out of its load balancer. Those who ask at once share one query.
 */
export class DatabaseProbe {
  readonly #open: () => Promise<Connection>
  #connection: Connection | undefined
  #asking: Promise<boolean> | undefined
  #isClosed = false

  constructor(open: () => Promise<Connection>) {
    this.#open = open
  }

  /** Returns whether the database answers within two seconds. */
  isReachable(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#connection?.close()
  }

  async #ask(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const cancel = whenLate(answerMs, () => {
      // What is in flight on it may never end.
      this.#connection?.destroy()
      resolve(false)
    })
    this.#query().then(resolve, () => resolve(false))
    return await promise.finally(cancel)
  }

  /** An idle connection may have been ended meanwhile, by a restart or a firewall. */
  async #query(): Promise<boolean> {
    if (this.#connection?.isOpen === true) {
      try {
        await this.#connection.query(sql`select 1`)
        return true
      } catch {
        this.#connection.destroy()
      }
    }
    try {
      this.#connection = await this.#open()
    } catch (error) {
      return isRefusal(error)
    }
    if (this.#isClosed) await this.#connection.close()
    return true
  }
}
