import type { Connection } from '../../../database/connection/connection.ts'
import { isRefusal } from '../../../database/connection/half-open.ts'
import { sql } from '../../../database/sql.ts'
import { whenLate } from '../../../lib/timer.ts'

/** Maximum response time of a healthy database. */
const answerMs = 2000

/**
 * Probe of the database on a connection of its own. Requests may use every connection of the pools of a
 * healthy node, which must not be removed from its load balancer. Concurrent probes share one query.
 */
export class DatabaseProbe {
  readonly #open: () => Promise<Connection>
  #connection: Connection | undefined
  #asking: Promise<boolean> | undefined
  #isClosed = false

  constructor(open: () => Promise<Connection>) {
    this.#open = open
  }

  /** Returns whether the database responds within two seconds. */
  isReachable(): Promise<boolean> {
    this.#asking ??= this.#probe().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#connection?.close()
  }

  async #probe(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const cancel = whenLate(answerMs, () => {
      // A request in flight on it may never end.
      this.#connection?.destroy()
      resolve(false)
    })
    this.#query().then(resolve, () => resolve(false))
    return await promise.finally(cancel)
  }

  /** Queries the database. A restart or a firewall may have ended an idle connection, which is then replaced. */
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
