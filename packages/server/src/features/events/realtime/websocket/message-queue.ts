import { TaskQueue } from '../task-queue.ts'

/** With so many messages waiting no more are read, until so few are left. */
const fullAt = 64
const resumeAt = 16

export interface MessageQueueOptions {
  /** Stops reading until there is capacity again. */
  readonly pause: () => void
  readonly resume: () => void
}

/** The messages of one socket, handled one after the other, with backpressure. */
export class MessageQueue {
  readonly #options: MessageQueueOptions
  readonly #queue = new TaskQueue()
  #waiting = 0
  #isPaused = false
  #isClosed = false

  constructor(options: MessageQueueOptions) {
    this.#options = options
  }

  /** @param task must not reject */
  push(task: () => Promise<void>): void {
    this.#waiting += 1
    if (!this.#isPaused && this.#waiting > fullAt) {
      this.#isPaused = true
      this.#options.pause()
    }
    void this.#queue.add(async () => {
      if (!this.#isClosed) await task()
      this.#waiting -= 1
      if (!this.#isPaused || this.#waiting > resumeAt) return
      this.#isPaused = false
      this.#options.resume()
    })
  }

  /** Discards what waits. */
  close(): void {
    this.#isClosed = true
  }
}
