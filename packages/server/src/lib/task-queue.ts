/** Runs tasks one after the other, in the order in which they were added. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()
  #size = 0

  /** Tasks that have not ended: the one that runs and those that wait for it. */
  get size(): number {
    return this.#size
  }

  /** Runs the task after those before it, whether they fail or not. */
  add<Result>(task: () => Promise<Result> | Result): Promise<Result> {
    this.#size += 1
    const running = this.#last.then(task).finally(() => {
      this.#size -= 1
    })
    this.#last = running.catch(() => undefined)
    return running
  }

  /** The tasks added from now on also run after those of the other queue so far. */
  follow(other: TaskQueue): void {
    this.#last = Promise.all([this.#last, other.#last])
  }

  /** Resolves when the tasks added so far have ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
