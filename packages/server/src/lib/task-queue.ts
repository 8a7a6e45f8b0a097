/** Queue that runs tasks one at a time, in the order of their addition. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve()
  #size = 0

  /** Number of unfinished tasks: the running one and the waiting ones. */
  get size(): number {
    return this.#size
  }

  /** Runs the task after earlier ones, whether they fail or not. */
  add<Result>(task: () => Promise<Result> | Result): Promise<Result> {
    this.#size += 1
    const running = this.#last.then(task).finally(() => {
      this.#size -= 1
    })
    this.#last = running.catch(() => undefined)
    return running
  }

  /** Makes the tasks that are added from now on run after the present ones of the other queue, too. */
  follow(other: TaskQueue): void {
    this.#last = Promise.all([this.#last, other.#last])
  }

  /** Resolves when the tasks added so far have ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
