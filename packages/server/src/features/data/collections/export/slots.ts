import { collectionErrors } from '../errors.ts'

/** Seconds after which a rejected caller may try again. */
const retrySeconds = 5

/**
 * Slots that bound the concurrent exports of this node. Each export holds a database connection for as long as its
 * reader takes.
 */
export class ExportSlots {
  readonly #size: number
  /** Exports in flight. */
  readonly #held = new Set<{ readonly caller: string }>()

  constructor(size: number) {
    this.#size = size
  }

  /**
   * Acquires a slot and returns the function that frees it.
   *
   * @throws AppError export_limit, exports_busy
   */
  take(caller: string): () => void {
    if (this.#held.size >= this.#size) throw collectionErrors.exportsBusy().retryAfter(retrySeconds)
    const own = [...this.#held].filter((each) => each.caller === caller).length
    // A caller who reads slowly must not block all others.
    if (own >= Math.ceil(this.#size / 2)) throw collectionErrors.exportLimit().retryAfter(retrySeconds)
    const slot = { caller }
    this.#held.add(slot)
    return () => void this.#held.delete(slot)
  }
}
