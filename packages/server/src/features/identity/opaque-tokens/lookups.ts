import { httpErrors } from '../../../http/errors/errors.ts'
import { Batcher } from '../../../lib/batcher.ts'

/** Maximum number of tokens that one statement looks up. */
const batchSize = 500
/** Maximum number of waiting tokens. Further callers are rejected, so that invented tokens cannot fill the memory. */
const waitingLimit = 20_000

/** Access that a token grants. */
export interface OpenedToken {
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string
}

/**
 * Lookup of tokens in the database. Tokens that arrive in the meantime are looked up together, so that a node
 * sends one statement at a time, however many invalid tokens arrive.
 */
export class TokenLookups<Opened extends OpenedToken> {
  /** Lookups whose statement has not been sent, by hash. */
  readonly #waiting = new Map<string, Promise<Opened | undefined>>()
  readonly #batches: Batcher<string, Opened | undefined>

  /** @param open returns the active tokens among the hashes, by one statement */
  constructor(open: (hashes: readonly string[]) => Promise<readonly Opened[]>) {
    this.#batches = new Batcher({ size: batchSize }, async (hashes) => {
      // A new request must not get the result of a statement that was sent before it.
      for (const hash of hashes) this.#waiting.delete(hash)
      const opened = new Map((await open(hashes)).map((each) => [each.hash, each]))
      return hashes.map((hash) => opened.get(hash))
    })
  }

  /** Looks up a token with the next batch. @param hash in hexadecimal @throws AppError too_many_requests */
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
