import { collectionErrors } from '../errors.ts'

/** Seconds after which a caller that was refused may try again. */
const retrySeconds = 5

/**
 * Bounds the exports at once on this node: each has a connection of the database for as long as its reader takes.
 */
export class ExportSlots {
  readonly #size: number
  /** Exports in flight. */
  readonly #held = new Set<{ readonly caller: string }>()

  constructor(size: number) {
    this.#size = size
  }

  /**
   * Takes a slot, and returns the function that frees it.
   *
   * @throws AppError export_limit, exports_busy
   */
  take(caller: string): () => void {
    if (this.#held.size >= this.#size) throw collectionErrors.exportsBusy().retryAfter(retrySeconds)
    const own = [...this.#held].filter((each) => each.caller === caller).length
    // One caller who reads slowly does not keep all others out.
    if (own >= Math.ceil(this.#size / 2)) throw collectionErrors.exportLimit().retryAfter(retrySeconds)
    const slot = { caller }
    this.#held.add(slot)
    return () => void this.#held.delete(slot)
  }
}
