import type { WebSocket } from 'ws'
import { TaskQueue } from '../task-queue.ts'

/** With so many messages waiting no more are read, until so few are left. */
const fullAt = 64
const resumeAt = 16

/** The messages of one socket, handled one after the other, with backpressure. */
export class MessageQueue {
  readonly #socket: WebSocket
  readonly #queue = new TaskQueue()
  #waiting = 0
  #isClosed = false

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  /** @param task must not reject */
  push(task: () => Promise<void>): void {
    this.#waiting += 1
    if (this.#waiting > fullAt) this.#socket.pause()
    void this.#queue.add(async () => {
      if (!this.#isClosed) await task()
      this.#waiting -= 1
      if (this.#socket.isPaused && this.#waiting <= resumeAt) this.#socket.resume()
    })
  }

  /** Discards what waits. */
  close(): void {
    this.#isClosed = true
  }
}
