import { setTimeout as delay } from 'node:timers/promises'
import type { WorkerProcess } from './worker-process.ts'

/** Time for a worker to return its metrics. */
const renderMs = 1000

/** Requests for metrics to the workers. */
export class MetricsCollection {
  readonly #requests = new Map<number, (text: string) => void>()
  #lastId = 0

  /** Returns the metrics of these workers. A silent one is left out. */
  async collect(workers: readonly WorkerProcess[]): Promise<string[]> {
    const texts = await Promise.all(workers.map((worker) => this.#render(worker)))
    return texts.filter((text) => text !== undefined)
  }

  receive({ id, text }: { readonly id: number; readonly text: string }): void {
    this.#requests.get(id)?.(text)
  }

  async #render(worker: WorkerProcess): Promise<string | undefined> {
    this.#lastId += 1
    const id = this.#lastId
    const rendered = new Promise<string>((resolve) => this.#requests.set(id, resolve))
    worker.tell({ kind: 'render', id })
    const text = await Promise.race([rendered, worker.ended, delay(renderMs, undefined, { ref: false })])
    this.#requests.delete(id)
    return text ?? undefined
  }
}
