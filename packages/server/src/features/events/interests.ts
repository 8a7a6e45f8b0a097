import type { ChangeAction } from '../../database/change-log.ts'

/** Somebody who listens to changes. */
export interface InterestSource {
  /** Who, for people: `webhooks`. */
  readonly name: string
  /** Answered from memory, for every write. When in doubt true: an event that nobody takes costs only its row. */
  isInterested(collection: string, action: ChangeAction): boolean
}

/** Who listens to which changes, as this node knows it. */
export class Interests {
  readonly #sources = new Set<InterestSource>()

  /** @returns what takes the source away again */
  add(source: InterestSource): () => void {
    this.#sources.add(source)
    return () => void this.#sources.delete(source)
  }

  has(collection: string, action: ChangeAction): boolean {
    for (const source of this.#sources) if (source.isInterested(collection, action)) return true
    return false
  }
}
