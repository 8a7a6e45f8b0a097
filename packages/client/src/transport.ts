import { readAnswer, readError } from './answer.ts'
import { BasaltError } from './errors.ts'
import { stringify } from './exact-json.ts'
import { randomId } from './random-id.ts'
import { backoffSeconds, isPassing, pause, startTimer } from './retry.ts'

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
  /** The server: `https://api.example.com`; a path, or nothing, is on the origin of the page. */
  readonly url: string
  /** A token, or where they come from. */
  readonly auth?: TokenSource | string | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Of one attempt; 30 s unless given, 0 for none. */
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
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, instead of a body. */
  readonly content?: Blob | BufferSource | string | undefined
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
  /** With the headers of the client; follows no redirect. */
  readonly fetch: (
    address: string,
    init?: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> },
  ) => Promise<Response>
  /** The body of the answer. @throws BasaltError, or the reason of the signal */
  request(method: string, path: string, detail: RequestDetail): Promise<unknown>
  /** What is read of an answer that is no error; of the `Response` itself, the caller reads the body. */
  exchange<Result>(
    method: string,
    path: string,
    detail: RequestDetail,
    read: (response: Response) => Result | Promise<Result>,
  ): Promise<Result>
  /** A write, which names itself. */
  write(
    method: string,
    path: string,
    detail: Omit<RequestDetail, 'isRepeatable'> & WriteOptions,
  ): Promise<unknown>
}

export function createTransport(options: TransportOptions): Transport {
  const { auth, retries = 3 } = options
  const url = readUrl(options.url)
  const timeoutMs = readTimeout(options.timeoutMs ?? 30_000)
  const tokens: TokenSource = typeof auth === 'object' ? auth : { token: () => auth }
  // In lower case, as those of requests: one that is there twice would have both values.
  const headers = Object.fromEntries(new Headers(options.headers))
  const send = ((address, init) => {
    // Called as a method of something else, the browser's own refuses.
    const { fetch = globalThis.fetch } = options
    // A redirect would make a write a read, and leave the token behind.
    return fetch(address, { ...init, headers: { ...headers, ...init?.headers }, redirect: 'manual' })
  }) satisfies Transport['fetch']

  async function attempt<Result>(
    method: string,
    address: string,
    detail: RequestDetail,
    token: string | undefined,
    read: (response: Response) => Result | Promise<Result>,
  ): Promise<Result> {
    const { body, signal } = detail
    const content = body === undefined ? detail.content : stringify(body)
    const attemptMs = detail.timeoutMs === undefined ? timeoutMs : readTimeout(detail.timeoutMs)
    signal?.throwIfAborted()
    const deadline = new AbortController()
    const abort = () => deadline.abort(signal?.reason)
    const timer = startTimer(() => deadline.abort(timedOut), attemptMs)
    signal?.addEventListener('abort', abort, { once: true })
    const release = () => signal?.removeEventListener('abort', abort)
    try {
      const response = await send(address, {
        method,
        headers: {
          ...detail.headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(content === undefined ? {} : { body: content }),
        signal: deadline.signal,
      })
      if (!response.ok) throw readError(response, await response.text())
      const result = await read(response)
      // A body that is still to be read ends with the signal, too.
      if (result !== response) release()
      return result
    } catch (error) {
      release()
      if (error instanceof BasaltError) throw error
      if (signal?.aborted === true) throw signal.reason
      throw deadline.signal.aborted
        ? new BasaltError('the server took too long', { error: 'timeout', status: 0 })
        : new BasaltError('the server cannot be reached', { error: 'network_error', status: 0, cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  const exchange: Transport['exchange'] = async (method, path, detail, read) => {
    const address = `${url}/api/${path}${formatQuery(detail.query)}`
    const { signal } = detail
    if (!url.startsWith('http') && options.fetch === undefined)
      throw new TypeError('url is a path, and this is no page')
    let token =
      detail.token === null ? undefined : (detail.token ?? (await unlessAborted(tokens.token(), signal)))
    const identity = tokens.identity?.()
    let isRenewed = detail.token !== undefined || tokens.renew === undefined
    for (let number = 0; ; ) {
      try {
        return await attempt(method, address, detail, token, read)
      } catch (error) {
        if (!(error instanceof BasaltError)) throw error
        if (isRefusedToken(error) && token !== undefined && !isRenewed) {
          // A request with such a token has done nothing.
          isRenewed = true
          token = await unlessAborted(tokens.renew?.(token), signal)
          // What was asked for as one user is not done as the next.
          if (token !== undefined && tokens.identity?.() === identity) continue
        }
        if (!detail.isRepeatable || !(number < retries) || !isPassing(error)) throw error
        number += 1
        await pause(backoffSeconds(number, error.retryAfterSeconds), signal)
      }
    }
  }

  const request: Transport['request'] = (method, path, detail) => exchange(method, path, detail, readAnswer)

  return {
    url,
    tokens,
    fetch: send,
    request,
    exchange,
    write: (method, path, { idempotencyKey = randomId(), headers, ...detail }) =>
      request(method, path, {
        ...detail,
        headers: { ...headers, 'idempotency-key': idempotencyKey },
        isRepeatable: true,
      }),
  }
}

/** @throws TypeError for what every request would fail with */
function readUrl(given: unknown): string {
  try {
    // Without types, a variable of the environment that is not set.
    const text = given as string
    const { location } = globalThis
    const isPath = /^(?:\/(?!\/)|$)/.test(text)
    // A server that renders pages may load the modules of the page.
    if (isPath && location === undefined) return text.replace(/\/+$/, '')
    const { protocol, username, search, hash, href } = new URL(text, isPath ? location.origin : undefined)
    if (/^https?:$/.test(protocol) && username + search + hash === '') return href.replace(/\/+$/, '')
  } catch {
    // It is none.
  }
  throw new TypeError("url is the http address of a server, as in 'https://api.example.com'")
}

/** @throws TypeError */
function readTimeout(ms: number): number {
  if (!(ms >= 0)) throw new TypeError('timeoutMs is a number of milliseconds, 0 for none')
  return ms === 0 ? Number.POSITIVE_INFINITY : ms
}

const timedOut = Symbol('timed out')

/** Not a wrong password or code, which counts as another attempt when it is sent again. An answer to HEAD has no slug. */
function isRefusedToken({ error }: BasaltError): boolean {
  return error === 'invalid_token' || error === 'http_401'
}

/** What others wait for, too, is not ended with the signal. @throws the reason of the signal */
async function unlessAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined || !(value instanceof Promise)) return await value
  return await new Promise<Value>((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** @internal With its question mark, if there is anything. */
export function formatQuery(query: RequestDetail['query'] = {}): string {
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
