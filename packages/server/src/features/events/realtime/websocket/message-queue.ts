import type { WebSocket } from 'ws'
import { TaskQueue } from '../../../../lib/task-queue.ts'

/** Numbers of waiting messages at which reading pauses and resumes. */
const fullAt = 64
const resumeAt = 16

/** Queue of one socket’s messages, which are handled one after the other, with backpressure. */
export class MessageQueue {
  readonly #socket: WebSocket
  readonly #queue = new TaskQueue()
  #isClosed = false

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  /** Adds a message. @param task must not reject */
  push(task: () => Promise<void>): void {
    void this.#queue.add(async () => {
      if (!this.#isClosed) await task()
      if (this.#socket.isPaused && this.#queue.size <= resumeAt) this.#socket.resume()
    })
    if (this.#queue.size > fullAt) this.#socket.pause()
  }

  /** Discards waiting messages. */
  close(): void {
    this.#isClosed = true
  }
}
