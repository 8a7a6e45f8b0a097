import { TaskQueue } from '../../../lib/task-queue.ts'

/** Returns the reason why the functions in the folder of a deploy cannot be loaded; undefined if they can. */
export type FindLoadProblem = (folder: string, hash: string) => Promise<string | undefined>

/** Loads of deploys that are to become live: one at a time, and one for all promotions of a deploy at once. */
export class TrialLoads {
  readonly #load: FindLoadProblem
  readonly #queue = new TaskQueue()
  readonly #running = new Map<string, Promise<string | undefined>>()

  constructor(load: FindLoadProblem) {
    this.#load = load
  }

  /** Returns the reason why the functions in the folder of a deploy cannot be loaded; undefined if they can. */
  async findProblem(folder: string, hash: string): Promise<string | undefined> {
    const known = this.#running.get(hash)
    if (known !== undefined) return await known
    const running = this.#queue.add(() => this.#load(folder, hash)).finally(() => this.#running.delete(hash))
    this.#running.set(hash, running)
    return await running
  }
}
