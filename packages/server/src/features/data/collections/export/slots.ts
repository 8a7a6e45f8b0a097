import { collectionErrors } from '../errors.ts'

/** Seconds after which a caller that was refused may try again. */
const retrySeconds = 5

/**
 * Bounds the exports at once on this node: each has a connection of the database for as long as its reader takes.
 */
export class ExportSlots {
  readonly #size: number
  /** Exports in flight by caller. */
  readonly #held = new Map<string, number>()

  constructor(size: number) {
    this.#size = size
  }

  /**
   * Takes a slot, and answers how to free it.
   *
   * @throws AppError export_limit, exports_busy
   */
  take(callerKey: string): () => void {
    const own = this.#held.get(callerKey) ?? 0
    const all = [...this.#held.values()].reduce((sum, count) => sum + count, 0)
    if (all >= this.#size) throw collectionErrors.exportsBusy().retryAfter(retrySeconds)
    // One caller who reads slowly does not keep all others out.
    if (own >= Math.ceil(this.#size / 2)) throw collectionErrors.exportLimit().retryAfter(retrySeconds)
    this.#held.set(callerKey, own + 1)
    let isFree = false
    return () => {
      if (isFree) return
      isFree = true
      const left = (this.#held.get(callerKey) ?? 1) - 1
      if (left === 0) this.#held.delete(callerKey)
      else this.#held.set(callerKey, left)
    }
  }
}
