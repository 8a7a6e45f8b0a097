import type { Queryable } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors.ts'
import { type OpenedKey, openApiKeys } from './queries.ts'

/** Secrets that one statement looks up. */
const batchSize = 500
/** Secrets that may wait. With more, callers are sent away: whoever makes secrets up must not fill the memory. */
const waitingLimit = 20_000

interface Waiting {
  readonly resolve: (key: OpenedKey | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Looks secrets up in the database, those that come meanwhile together: however many invalid ones are sent, a node asks one
 * statement at a time.
 */
export class KeyLookups {
  readonly #database: Pick<Queryable, 'many'>
  readonly #waiting = new Map<string, Waiting[]>()
  #isLooking = false

  constructor(database: Pick<Queryable, 'many'>) {
    this.#database = database
  }

  /** @param hash in hexadecimal @throws AppError too_many_requests */
  find(hash: string): Promise<OpenedKey | undefined> {
    const waiting = this.#waiting.get(hash)
    if (waiting === undefined && this.#waiting.size >= waitingLimit) {
      return Promise.reject(httpErrors.tooManyRequests().with({ headers: { 'retry-after': '1' } }))
    }
    return new Promise((resolve, reject) => {
      if (waiting === undefined) this.#waiting.set(hash, [{ resolve, reject }])
      else waiting.push({ resolve, reject })
      if (!this.#isLooking) void this.#look()
    })
  }

  #takeBatch(): (readonly [string, Waiting[]])[] {
    const batch: (readonly [string, Waiting[]])[] = []
    for (const entry of this.#waiting) {
      if (batch.length === batchSize) break
      this.#waiting.delete(entry[0])
      batch.push(entry)
    }
    return batch
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    // What arrives in the same turn goes together.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const batch = this.#takeBatch()
      try {
        const keys = await openApiKeys(
          this.#database,
          batch.map(([hash]) => hash),
        )
        const byHash = new Map(keys.map((key) => [key.hash, key]))
        for (const [hash, waiting] of batch) for (const { resolve } of waiting) resolve(byHash.get(hash))
      } catch (error) {
        for (const [, waiting] of batch) for (const { reject } of waiting) reject(error)
      }
    }
    this.#isLooking = false
  }
}
