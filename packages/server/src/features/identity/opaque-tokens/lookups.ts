import { httpErrors } from '../../../http/errors/errors.ts'

/** Tokens that one statement looks up. */
const batchSize = 500
/** Tokens that may wait. With more, callers are rejected: made-up tokens must not fill the memory. */
const waitingLimit = 20_000

/** What a token opens. */
export interface OpenedToken {
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string
}

interface Waiting<Opened> {
  readonly resolve: (opened: Opened | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Looks tokens up in the database, those that come meanwhile together: however many invalid ones are sent, a node asks one
 * statement at a time.
 */
export class TokenLookups<Opened extends OpenedToken> {
  readonly #open: (hashes: readonly string[]) => Promise<readonly Opened[]>
  readonly #waiting = new Map<string, Waiting<Opened>[]>()
  #isLooking = false

  /** @param open answers those of the hashes that are in force, by one statement */
  constructor(open: (hashes: readonly string[]) => Promise<readonly Opened[]>) {
    this.#open = open
  }

  /** @param hash in hexadecimal @throws AppError too_many_requests */
  find(hash: string): Promise<Opened | undefined> {
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

  #takeBatch(): (readonly [string, Waiting<Opened>[]])[] {
    const batch: (readonly [string, Waiting<Opened>[]])[] = []
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
        const opened = await this.#open(batch.map(([hash]) => hash))
        const byHash = new Map(opened.map((each) => [each.hash, each]))
        for (const [hash, waiting] of batch) for (const { resolve } of waiting) resolve(byHash.get(hash))
      } catch (error) {
        for (const [, waiting] of batch) for (const { reject } of waiting) reject(error)
      }
    }
    this.#isLooking = false
  }
}
