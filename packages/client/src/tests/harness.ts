import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Network of a client, in which a test can inject failures. */
export interface Network {
  readonly fetch: typeof fetch
  /** Requests in order, such as `POST /api/collections/task`. */
  readonly requests: string[]
  /** Idempotency keys of the requests that had one. */
  readonly keys: string[]
  /** Lets the server process the next request and loses the response. */
  loseAnswer(): void
  /** Loses the next request before it reaches the server. */
  loseRequest(): void
  /** Sends the next request to this path and holds back its response, or `other`, until the returned function is called. */
  holdAnswer(path: string, other?: Response): () => void
  /** Responds to the next requests to this path without sending them. */
  answer(path: string, ...responses: readonly Response[]): void
  /** Breaks the open streams. */
  cutStreams(): void
  /** Number of open streams. */
  readonly streams: number
}

export function createNetwork(): Network {
  const requests: string[] = []
  const keys: string[] = []
  const streams = new Set<AbortController>()
  const held = new Map<string, Promise<Response | undefined>>()
  const prepared = new Map<string, Response[]>()
  let next: 'answer' | 'request' | undefined
  return {
    requests,
    keys,
    get streams() {
      return streams.size
    },
    loseAnswer() {
      next = 'answer'
    },
    loseRequest() {
      next = 'request'
    },
    holdAnswer(path, other) {
      const { promise, resolve } = Promise.withResolvers<Response | undefined>()
      held.set(path, promise)
      return () => resolve(other)
    },
    answer: (path, ...responses) => void prepared.set(path, [...responses]),
    cutStreams() {
      for (const stream of streams) stream.abort(new TypeError('the connection broke'))
      streams.clear()
    },
    async fetch(input, init) {
      const url = new URL(String(input))
      requests.push(`${init?.method ?? 'GET'} ${url.pathname}`)
      const key = new Headers(init?.headers).get('idempotency-key')
      if (key !== null) keys.push(key)
      const lost = next
      next = undefined
      if (lost === 'request') throw new TypeError('fetch failed')
      const answered = prepared.get(url.pathname)?.shift()
      if (answered !== undefined) return answered
      if (!url.pathname.endsWith('/realtime')) {
        const release = held.get(url.pathname)
        held.delete(url.pathname)
        const response = await fetch(input, init)
        const other = await release
        if (lost === 'answer') throw new TypeError('fetch failed')
        return other ?? response
      }
      const stream = new AbortController()
      const { signal } = init ?? {}
      signal?.addEventListener('abort', () => {
        stream.abort(signal.reason)
        streams.delete(stream)
      })
      const response = await fetch(input, { ...init, signal: stream.signal })
      if (response.ok) streams.add(stream)
      return response
    },
  }
}

/** Collects the errors of listeners, which are reported like uncaught ones, until it is disposed. */
export function collectReports(): { readonly errors: readonly unknown[] } & Disposable {
  const errors: unknown[] = []
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => errors.push(error))
  return {
    errors,
    [Symbol.dispose]() {
      process.removeAllListeners('uncaughtException')
      for (const listener of listeners) process.on('uncaughtException', listener)
    },
  }
}

export function readFixture(): Promise<string> {
  return readFile(join(import.meta.dirname, 'fixture.sql'), 'utf8')
}
