/** So many messages may wait before no more are read. */
const fullAt = 64
const roomyAt = 16

export interface MessageQueueOptions {
  /** Too much waits: to be told when there is room again, read nothing until then. */
  readonly pause: () => void
  readonly resume: () => void
}

/** What one socket asks for, one after the other; a client that asks faster than it is answered is read no further. */
export class MessageQueue {
  readonly #options: MessageQueueOptions
  readonly #waiting: (() => Promise<void>)[] = []
  #isWorking = false
  #isPaused = false

  constructor(options: MessageQueueOptions) {
    this.#options = options
  }

  /** @param task must not reject */
  push(task: () => Promise<void>): void {
    this.#waiting.push(task)
    if (!this.#isPaused && this.#waiting.length >= fullAt) {
      this.#isPaused = true
      this.#options.pause()
    }
    if (!this.#isWorking) void this.#work()
  }

  /** What waits is forgotten. */
  close(): void {
    this.#waiting.length = 0
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      await task()
      if (this.#isPaused && this.#waiting.length <= roomyAt) {
        this.#isPaused = false
        this.#options.resume()
      }
    }
    this.#isWorking = false
  }
}
