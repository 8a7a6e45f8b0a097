import type { WebSocket } from 'ws'
import { TaskQueue } from '../../../../lib/task-queue.ts'

/** With so many messages waiting no more are read, until so few are left. */
const fullAt = 64
const resumeAt = 16

/** The messages of one socket, handled one after the other, with backpressure. */
export class MessageQueue {
  readonly #socket: WebSocket
  readonly #queue = new TaskQueue()
  #isClosed = false

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  /** @param task must not reject */
  push(task: () => Promise<void>): void {
    void this.#queue.add(async () => {
      if (!this.#isClosed) await task()
      if (this.#socket.isPaused && this.#queue.size <= resumeAt) this.#socket.resume()
    })
    if (this.#queue.size > fullAt) this.#socket.pause()
  }

  /** Discards what waits. */
  close(): void {
    this.#isClosed = true
  }
}
