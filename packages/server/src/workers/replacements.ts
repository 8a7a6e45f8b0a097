import type { Logger } from 'pino'
import { Restarts } from './restarts.ts'
import type { WorkerProcess } from './worker-process.ts'

export interface ReplacementsOptions {
  readonly log: Logger
  readonly launch: (number: number) => void
  /** Called when a worker crashes again and again. */
  readonly onFailure: (reason: string) => void
}

/** Replaces workers that end. */
export class Replacements {
  readonly #options: ReplacementsOptions
  readonly #restarts = new Map<number, Restarts>()
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(options: ReplacementsOptions) {
    this.#options = options
  }

  /** Schedules the successor of a worker that has ended. @param isAnyServing if another worker serves */
  replace(worker: WorkerProcess, isAnyServing: boolean): void {
    const { log, launch, onFailure } = this.#options
    const { number, pid, reason, exit } = worker
    const restarts = this.#restarts.get(number) ?? new Restarts()
    this.#restarts.set(number, restarts)
    const delayMs = restarts.next({
      livedMs: performance.now() - worker.startedAt,
      isWaiting: (worker.wasRefused && isAnyServing) || exit?.code === 0,
    })
    const how = {
      worker: number,
      pid,
      ...(exit?.signal ? { signal: exit.signal } : { code: exit?.code }),
      ...(reason === undefined ? {} : { reason }),
    }
    if (delayMs === undefined) {
      log.error(how, 'a worker has ended five times in a row')
      onFailure(`worker ${number} has ended five times in a row: ${worker.describeEnd()}`)
      return
    }
    log.error(how, `a worker has ended; starting another one in ${delayMs / 1000} s`)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      launch(number)
    }, delayMs)
    this.#timers.add(timer)
  }

  cancel(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}
