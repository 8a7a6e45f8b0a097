import type { SystemDatabase } from '../../../database/system-database.ts'
import { untilAborted } from '../../../lib/abort.ts'
import { Lru } from '../../../lib/lru.ts'
import { createThrottle, requireAllowed } from '../../operations/throttle/index.ts'
import type { Embedder } from './embedder.ts'
import { embeddingErrors } from './errors.ts'

/** Maximum number of cached vectors of search texts; some 15 KB each. */
const cacheLimit = 512

/**
 * Maximum time in seconds that a search waits for a rate-limited provider. For a longer pause the client gets the
 * 429.
 */
const longestPause = 2

interface Flight {
  readonly vector: Promise<readonly number[]>
  readonly controller: AbortController
  waiting: number
}

/** Counts a text that is sent to the provider. @throws AppError embedding_limit_reached */
export type CountQuery = (spender: string) => Promise<void>

/** Limits the embedded texts of one spender, on all nodes together, since each text costs the operator money. */
export function limitQueries(database: SystemDatabase, perHour: number): CountQuery {
  const throttle = createThrottle(database)
  const limit = { name: 'ai.queries', attempts: perHour, windowSeconds: 3600 }
  return async (spender) =>
    requireAllowed(await throttle.attempt(limit, spender), embeddingErrors.embeddingLimitReached())
}

/**
 * Embeds search texts. Repeated texts are cached, and concurrent requests for one text share one request to the
 * provider. That request ends when all clients that wait for it have disconnected.
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
   * @param spender whose quota an uncached text counts against; undefined for an administrator
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
        // A client that comes later starts a new request.
        if (flights.get(text) === flight) flights.delete(text)
        flight.controller.abort()
      }
    }
  }
}
