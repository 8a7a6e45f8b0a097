import { BasaltError } from './errors.ts'
import { parseExact, stringify } from './exact-json.ts'

/** Where access tokens come from; `createAuth` makes one. */
export interface TokenSource {
  /** One that is good for a while; undefined when signed out. */
  token(): string | undefined | Promise<string | undefined>
  /** After the server has refused a token: another one, or undefined. */
  renew?(refused: string): Promise<string | undefined>
  /** Who is signed in: tabs of one user share a stream. Without it none is shared. */
  identity?(): string | undefined
  /** Calls back when the token or the identity changes. */
  subscribe?(listener: () => void): () => void
}

export interface TransportOptions {
  /** The server: `https://api.example.com`. */
  readonly url: string
  /** A token, or where they come from. */
  readonly auth?: TokenSource | string | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Of one attempt; 30 s unless given. */
  readonly timeoutMs?: number | undefined
  /** Attempts after the first; 3 unless given. Writes are tried again under the same key. */
  readonly retries?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export interface WriteOptions extends RequestOptions {
  /** Names this write, so that sending it again makes it once; a random one unless given. */
  readonly idempotencyKey?: string | undefined
}

interface RequestDetail extends RequestOptions {
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether sending it twice is harmless. */
  readonly isRepeatable: boolean
  /** Instead of that of the source; null: none. */
  readonly token?: string | null | undefined
}

/** Sends requests, again where that is safe. */
export interface Transport {
  readonly url: string
  readonly tokens: TokenSource
  readonly fetch: typeof globalThis.fetch
  /** The body of the answer. @throws BasaltError, or the reason of the signal */
  request(method: string, path: string, detail: RequestDetail): Promise<unknown>
  /** A write, which names itself. */
  write(
    method: string,
    path: string,
    detail: Omit<RequestDetail, 'isRepeatable'> & WriteOptions,
  ): Promise<unknown>
}

export function createTransport(options: TransportOptions): Transport {
  const { auth, timeoutMs = 30_000, retries = 3 } = options
  const url = options.url.replace(/\/+$/, '')
  const tokens: TokenSource = typeof auth === 'object' ? auth : { token: () => auth }
  // Called as a method of something else, the browser's own refuses.
  const send: typeof globalThis.fetch = options.fetch ?? ((...request) => globalThis.fetch(...request))

  async function attempt(
    method: string,
    address: string,
    detail: RequestDetail,
    token: string | undefined,
  ): Promise<unknown> {
    const { body, signal } = detail
    signal?.throwIfAborted()
    const deadline = new AbortController()
    const abort = () => deadline.abort(signal?.reason)
    const timer = setTimeout(() => deadline.abort(timedOut), detail.timeoutMs ?? timeoutMs)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const response = await send(address, {
        method,
        headers: {
          ...options.headers,
          ...detail.headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: stringify(body) }),
        signal: deadline.signal,
      })
      return readAnswer(response, await response.text())
    } catch (error) {
      if (error instanceof BasaltError) throw error
      if (signal?.aborted === true) throw signal.reason
      throw deadline.signal.aborted
        ? new BasaltError('the server took too long', { error: 'timeout', status: 0 })
        : new BasaltError('the server cannot be reached', { error: 'network_error', status: 0, cause: error })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  const request: Transport['request'] = async (method, path, detail) => {
    const address = `${url}/api/${path}${formatQuery(detail.query)}`
    let token = detail.token === null ? undefined : (detail.token ?? (await tokens.token()))
    let isRenewed = detail.token !== undefined || tokens.renew === undefined
    for (let number = 0; ; ) {
      try {
        return await attempt(method, address, detail, token)
      } catch (error) {
        if (!(error instanceof BasaltError)) throw error
        if (error.status === 401 && token !== undefined && !isRenewed) {
          // A refused request has done nothing.
          isRenewed = true
          token = await tokens.renew?.(token)
          if (token !== undefined) continue
        }
        if (!detail.isRepeatable || number === retries || !isPassing(error)) throw error
        number += 1
        await pause(error.retryAfterSeconds ?? backoffSeconds(number), detail.signal)
      }
    }
  }

  return {
    url,
    tokens,
    fetch: send,
    request,
    write: (method, path, { idempotencyKey = randomId(), headers, ...detail }) =>
      request(method, path, {
        ...detail,
        headers: { ...headers, 'idempotency-key': idempotencyKey },
        isRepeatable: true,
      }),
  }
}

/** A server that wants a longer one is left to the caller. */
const longestPauseSeconds = 30

const timedOut = Symbol('timed out')

/** Unique; pages without TLS have no `randomUUID`. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

/** Whether another attempt may fare better. */
function isPassing({ error, status, retryAfterSeconds = 0 }: BasaltError): boolean {
  if (retryAfterSeconds > longestPauseSeconds) return false
  return (
    error === 'network_error' ||
    error === 'timeout' ||
    error === 'idempotency_key_in_use' ||
    [502, 503, 504].includes(status)
  )
}

/** Doubling, with jitter: clients that were cut off together must not reconnect together. */
export function backoffSeconds(number: number): number {
  return Math.min(30, 0.2 * 2 ** number) * (0.5 + Math.random() / 2)
}

/** @throws the reason of the signal */
export async function pause(seconds: number, signal?: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, seconds * 1000)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function readAnswer(response: Response, text: string): unknown {
  const requestId = response.headers.get('x-request-id') ?? undefined
  let body: unknown
  try {
    body = text === '' ? undefined : parseExact(text)
  } catch (cause) {
    if (response.ok) {
      const detail = { error: 'invalid_response', status: response.status, requestId, cause }
      throw new BasaltError('the answer is not JSON', detail)
    }
  }
  if (response.ok) return body
  // Of what stands between, a proxy's page for instance, only the status is known.
  const envelope = (typeof body === 'object' ? (body ?? {}) : {}) as Partial<{
    message: string
    error: string
    data: Record<string, unknown>
    operation: { index: number; method: string }
  }>
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  throw new BasaltError(envelope.message ?? `the server answered ${response.status}`, {
    error: envelope.error ?? `http_${response.status}`,
    status: response.status,
    requestId,
    data: envelope.data,
    operation: envelope.operation,
    retryAfterSeconds: Number.isNaN(retryAfter) ? undefined : retryAfter,
  })
}

function formatQuery(query: RequestDetail['query'] = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value)
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

/** @internal A part of a path. @throws TypeError for what an address cannot hold */
export function pathSegment(text: string): string {
  // The URL Standard removes them from any path, percent-encoded or not, and the request would go elsewhere.
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`not a name or key of an address: "${text}"`)
  return encodeURIComponent(text)
}
