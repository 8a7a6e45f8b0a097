/** Runs tasks one after the other, in the order in which they were added. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs the task after those before it, whether they fail or not. */
  add<Result>(task: () => Promise<Result> | Result): Promise<Result> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => undefined)
    return result
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
