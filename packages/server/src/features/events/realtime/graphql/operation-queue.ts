import { LinkedQueue } from '../../../../lib/linked-queue.ts'
import type { WebSocketConnection } from '../websocket/websocket-connection.ts'

/** Maximum number of operations of one WebSocket that run at the same time. */
const runningLimit = 16
/** Maximum number that wait. One chunk of a connection holds hundreds of messages, which arrive despite a pause. */
export const waitingLimit = 250
/** Numbers of waiting operations at which reading pauses and resumes. */
const fullAt = 32
const resumeAt = 8

/** Queue of the operations of one WebSocket. They start in the order of their arrival, with backpressure. */
export class OperationQueue {
  readonly #connection: Pick<WebSocketConnection, 'pause' | 'resume'>
  readonly #waiting = new LinkedQueue<() => Promise<void>>()
  #running = 0

  constructor(connection: Pick<WebSocketConnection, 'pause' | 'resume'>) {
    this.#connection = connection
  }

  /**
   * Runs the operation now or later.
   *
   * @param run must not reject
   * @returns false if too many operations wait
   */
  add(run: () => Promise<void>): boolean {
    if (this.#running < runningLimit) {
      this.#start(run)
      return true
    }
    if (this.#waiting.length >= waitingLimit) return false
    this.#waiting.push(run)
    if (this.#waiting.length >= fullAt) this.#connection.pause()
    return true
  }

  #start(run: () => Promise<void>): void {
    this.#running += 1
    void run().then(() => {
      this.#running -= 1
      const next = this.#waiting.shift()
      if (next !== undefined) this.#start(next)
      if (this.#waiting.length <= resumeAt) this.#connection.resume()
    })
  }
}
