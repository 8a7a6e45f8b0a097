import { httpErrors } from '../../../http/errors/errors.ts'
import { Batcher } from '../../../lib/batcher.ts'

/** Tokens that one statement looks up. */
const batchSize = 500
/** Tokens that may wait. With more, callers are rejected: made-up tokens must not fill the memory. */
const waitingLimit = 20_000

/** What a token opens. */
export interface OpenedToken {
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string
}

/**
 * Looks tokens up in the database, those that come meanwhile together: however many invalid ones are sent, a node asks one
 * statement at a time.
 */
export class TokenLookups<Opened extends OpenedToken> {
  /** Lookups whose statement has not been sent, by hash. */
  readonly #waiting = new Map<string, Promise<Opened | undefined>>()
  readonly #batches: Batcher<string, Opened | undefined>

  /** @param open answers those of the hashes that are in force, by one statement */
  constructor(open: (hashes: readonly string[]) => Promise<readonly Opened[]>) {
    this.#batches = new Batcher({ size: batchSize }, async (hashes) => {
      // A request of now must not get the answer of a statement that was sent before.
      for (const hash of hashes) this.#waiting.delete(hash)
      const opened = new Map((await open(hashes)).map((each) => [each.hash, each]))
      return hashes.map((hash) => opened.get(hash))
    })
  }

  /** @param hash in hexadecimal @throws AppError too_many_requests */
  find(hash: string): Promise<Opened | undefined> {
    const waiting = this.#waiting.get(hash)
    if (waiting !== undefined) return waiting
    if (this.#waiting.size >= waitingLimit) {
      return Promise.reject(httpErrors.tooManyRequests().with({ headers: { 'retry-after': '1' } }))
    }
    const found = this.#batches.add(hash)
    this.#waiting.set(hash, found)
    return found
  }
}
