import type { SystemDatabase } from '../../../database/system-database.ts'
import { untilAborted } from '../../../lib/abort.ts'
import { Lru } from '../../../lib/lru.ts'
import { createThrottle, requireAllowed } from '../../operations/throttle/index.ts'
import type { Embedder } from './embedder.ts'
import { embeddingErrors } from './errors.ts'

/** Vectors of texts that clients search for; some 15 KB each. */
const cacheLimit = 512

/** Seconds that a search waits for a provider that limits requests; for longer ones its client gets the 429. */
const longestPause = 2

interface Flight {
  readonly vector: Promise<readonly number[]>
  readonly controller: AbortController
  waiting: number
}

/** Counts a text that is asked of the provider. @throws AppError embedding_limit_reached */
export type CountQuery = (spender: string) => Promise<void>

/** Limits what one spender may have embedded, on all nodes together: each text costs the operator money. */
export function limitQueries(database: SystemDatabase, perHour: number): CountQuery {
  const throttle = createThrottle(database)
  const limit = { name: 'ai.queries', attempts: perHour, windowSeconds: 3600 }
  return async (spender) =>
    requireAllowed(await throttle.attempt(limit, spender), embeddingErrors.embeddingLimitReached())
}

/**
 * Embeds texts of queries: what is asked for again is known, and what is asked for at once is asked of the provider
 * once. A request to the provider ends when all clients that wait for it have disconnected.
 */
export function createQueryEmbeddings(embedder: Pick<Embedder, 'embed'>, countQuery?: CountQuery) {
  const known = new Lru<string, readonly number[]>(cacheLimit)
  const flights = new Map<string, Flight>()

  function begin(text: string): Flight {
    const controller = new AbortController()
    const vector = embedder.embed([text], controller.signal, longestPause).then(([first = []]) => {
      known.set(text, first)
      return first
    })
    const flight = { vector, controller, waiting: 0 }
    flights.set(text, flight)
    const end = () => {
      if (flights.get(text) === flight) flights.delete(text)
    }
    vector.then(end, end)
    return flight
  }

  /**
   * @param spender who is counted for a text that is not known; undefined: an administrator
   * @throws AppError embedding_…, no_embedding
   */
  return async (text: string, signal?: AbortSignal, spender?: string): Promise<readonly number[]> => {
    if (known.get(text) === undefined && !flights.has(text) && spender !== undefined)
      await countQuery?.(spender)
    const found = known.get(text)
    if (found !== undefined) return found
    const flight = flights.get(text) ?? begin(text)
    flight.waiting += 1
    try {
      return await untilAborted(signal, flight.vector)
    } catch (error) {
      throw signal?.aborted === true ? embeddingErrors.embeddingCanceled() : error
    } finally {
      flight.waiting -= 1
      if (flight.waiting === 0 && !known.get(text)) {
        // A client that comes now begins anew.
        if (flights.get(text) === flight) flights.delete(text)
        flight.controller.abort()
      }
    }
  }
}
