import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work between two pauses for other requests. */
const sliceMs = 10

/** Pace of work that would block the process: other requests run between its slices. */
export class Pace {
  #began = performance.now()

  /** True if other requests should run first. */
  get isDue(): boolean {
    return performance.now() - this.#began >= sliceMs
  }

  async pause(): Promise<void> {
    if (!this.isDue) return
    await setImmediate()
    this.#began = performance.now()
  }
}
