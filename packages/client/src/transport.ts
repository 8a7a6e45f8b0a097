import { BasaltError } from './errors.ts'
import { stringify } from './exact-json.ts'
import { randomId } from './random-id.ts'
import { readError, readJson } from './response.ts'
import { createRetryBudget, isRetryable, pause, startTimer } from './retry.ts'
import { createWritePosition } from './write-position.ts'

/** Source of access tokens, such as the object that `createAuth` returns. */
export interface TokenSource {
  /** Returns a token that lasts for the next request, or undefined if no user is signed in. */
  token(): string | undefined | Promise<string | undefined>
  /** Returns another token after the server rejected one, or undefined if there is none. */
  renew?(rejected: string): Promise<string | undefined>
  /** Returns the id of the signed-in user. Tabs of one user share a stream; without this method they share none. */
  identity?(): string | undefined
  /** Calls the listener when the token or the user changes. Returns a function that removes the listener. */
  subscribe?(listener: () => void): () => void
}

/** Options of the connection to a server. */
export interface TransportOptions {
  /** Base URL of the server, such as `https://api.example.com`. A path or an empty string is resolved against the page. */
  readonly url: string
  /** Access token, or a source of access tokens. Requests are anonymous unless set. */
  readonly auth?: TokenSource | string | undefined
  /** Replacement for the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Time limit of one attempt, in milliseconds; 30,000 unless set, 0 for no limit. */
  readonly timeoutMs?: number | undefined
  /**
   * Time after the first failure during which a request is repeated, in milliseconds; 15,000 unless set, 0 for no retries. It
   * covers a restart of the server. Repeated writes carry the same idempotency key, so the server applies them once.
   */
  readonly retryForMs?: number | undefined
  /** Maximum number of retries in this time; unlimited unless set. */
  readonly retries?: number | undefined
  /** Headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of one request. */
export interface RequestOptions {
  /** Signal that aborts the request. The request then rejects with its abort reason. */
  readonly signal?: AbortSignal | undefined
  /** Time limit of one attempt, in milliseconds; that of the client unless set, 0 for no limit. */
  readonly timeoutMs?: number | undefined
  /** Time after the first failure during which the request is repeated, in milliseconds; that of the client unless set. */
  readonly retryForMs?: number | undefined
  /**
   * Server for a read, if the backend has read replicas. `eventual` admits a replica, which may lag but has the writes of this
   * client. `strong` requires the primary. Unless set, a replica serves reads after a write of this client, and those of
   * clients without a user.
   */
  readonly consistency?: 'eventual' | 'strong' | undefined
}

/** Options of one write. */
export interface WriteOptions extends RequestOptions {
  /** Idempotency key: the server applies writes with the same key once. A random key unless set. */
  readonly idempotencyKey?: string | undefined
}

interface RequestDetail extends RequestOptions {
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  /** Request body, sent as JSON. */
  readonly body?: unknown
  /** Request content, sent unchanged instead of a body. */
  readonly content?: Blob | BufferSource | string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** True if the request can safely be sent twice. */
  readonly isRepeatable: boolean
  /** Token to send instead of that of the token source; null for an anonymous request. */
  readonly token?: string | null | undefined
}

/** Sends requests, and retries them if that is safe. */
export interface Transport {
  /** Base URL of the server, without a slash at its end. */
  readonly url: string
  readonly tokens: TokenSource
  /** Sends one request with the headers of the client. Does not follow redirects. */
  readonly fetch: (
    address: string,
    init?: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> },
  ) => Promise<Response>
  /** Sends a request and returns the JSON body of the response. @throws BasaltError, or the abort reason of the signal */
  request(method: string, path: string, detail: RequestDetail): Promise<unknown>
  /**
   * Sends a request and returns what `read` returns for a successful response. If `read` returns the `Response` itself, the
   * caller reads the body.
   */
  exchange<Result>(
    method: string,
    path: string,
    detail: RequestDetail,
    read: (response: Response) => Result | Promise<Result>,
  ): Promise<Result>
  /** Sends a write with an idempotency key, so that it can be retried. Returns what `read` returns, the JSON body unless set. */
  write(
    method: string,
    path: string,
    detail: Omit<RequestDetail, 'isRepeatable'> & WriteOptions,
    read?: (response: Response) => Promise<unknown>,
  ): Promise<unknown>
}

export function createTransport(options: TransportOptions): Transport {
  const { auth, retries = Number.POSITIVE_INFINITY } = options
  const url = readUrl(options.url)
  const timeoutMs = readTimeout(options.timeoutMs ?? 30_000)
  const retryForMs = readRetryTime(options.retryForMs ?? 15_000)
  const tokens: TokenSource = typeof auth === 'object' ? auth : { token: () => auth }
  // Header names are lowercased like those of requests. Otherwise a header set in both would be sent with both values.
  const headers = Object.fromEntries(new Headers(options.headers))
  const position = createWritePosition()
  const send = ((address, init) => {
    // The browser's `fetch` must not be called as a method of another object.
    const { fetch = globalThis.fetch } = options
    // Following a redirect would turn a write into a read and drop the token.
    return fetch(address, { ...init, headers: { ...headers, ...init?.headers }, redirect: 'manual' })
  }) satisfies Transport['fetch']

  async function attempt<Result>(
    method: string,
    address: string,
    detail: RequestDetail,
    { token, caller }: { readonly token: string | undefined; readonly caller: string | undefined },
    read: (response: Response) => Result | Promise<Result>,
  ): Promise<Result> {
    const { body, signal, consistency } = detail
    const isWrite = !/^(?:GET|HEAD)$/.test(method)
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
          ...position.headers(caller),
          ...(consistency === undefined ? {} : { 'x-read-consistency': consistency }),
          ...detail.headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(content === undefined ? {} : { body: content }),
        signal: deadline.signal,
      })
      // A rejected write has changed nothing.
      if (isWrite && (response.ok || response.status >= 500)) position.store(caller, response)
      if (!response.ok) throw readError(response, await response.text())
      const result = await read(response)
      // A body that the caller reads later is aborted by the signal, too.
      if (result !== response) release()
      return result
    } catch (error) {
      release()
      if (error instanceof BasaltError) throw error
      // The write may have been made.
      if (isWrite) position.store(caller)
      if (signal?.aborted === true) throw signal.reason
      throw deadline.signal.aborted
        ? new BasaltError('the server has not responded in time; try again', { error: 'timeout', status: 0 })
        : new BasaltError('the server cannot be reached; check the connection and try again', {
            error: 'network_error',
            status: 0,
            cause: error,
          })
    } finally {
      clearTimeout(timer)
    }
  }

  const exchange: Transport['exchange'] = async (method, path, detail, read) => {
    const address = `${url}/api/${path}${formatQuery(detail.query)}`
    const { signal } = detail
    const budget = createRetryBudget(readRetryTime(detail.retryForMs ?? retryForMs), retries)
    if (!url.startsWith('http') && options.fetch === undefined)
      throw new TypeError('url is a path, and this is no page')
    let token =
      detail.token === null ? undefined : (detail.token ?? (await unlessAborted(tokens.token(), signal)))
    const identity = tokens.identity?.()
    let isRenewed = detail.token !== undefined || tokens.renew === undefined
    for (;;) {
      try {
        const caller = detail.token === undefined ? (identity ?? token) : (detail.token ?? undefined)
        return await attempt(method, address, detail, { token, caller }, read)
      } catch (error) {
        if (!(error instanceof BasaltError)) throw error
        if (isRefusedToken(error) && token !== undefined && !isRenewed) {
          // The server did not process a request with a rejected token.
          isRenewed = true
          token = await unlessAborted(tokens.renew?.(token), signal)
          // A request of one user must not be sent as the next user.
          if (token !== undefined && tokens.identity?.() === identity) continue
        }
        const seconds =
          detail.isRepeatable && isRetryable(error) ? budget.take(error.retryAfterSeconds) : undefined
        if (seconds === undefined) throw error
        await pause(seconds, signal)
      }
    }
  }

  const request: Transport['request'] = (method, path, detail) => exchange(method, path, detail, readJson)

  return {
    url,
    tokens,
    fetch: send,
    request,
    exchange,
    write: (method, path, { idempotencyKey = randomId(), headers, ...detail }, read = readJson) =>
      exchange(
        method,
        path,
        { ...detail, headers: { ...headers, 'idempotency-key': idempotencyKey }, isRepeatable: true },
        read,
      ),
  }
}

/** Parses the base URL. @throws TypeError for a URL that no request could use */
function readUrl(given: unknown): string {
  try {
    // Callers without types may pass an environment variable that is not set.
    const text = given as string
    const { location } = globalThis
    const isPath = /^(?:\/(?!\/)|$)/.test(text)
    // A server that renders pages may load the modules of a page.
    if (isPath && location === undefined) return text.replace(/\/+$/, '')
    const { protocol, username, search, hash, href } = new URL(text, isPath ? location.origin : undefined)
    if (/^https?:$/.test(protocol) && username + search + hash === '') return href.replace(/\/+$/, '')
  } catch {
    // The value is not a URL.
  }
  throw new TypeError("url is the http address of a server, as in 'https://api.example.com'")
}

/** Parses a time limit. @throws TypeError for a negative or invalid number */
function readTimeout(ms: number): number {
  if (!(ms >= 0)) throw new TypeError('timeoutMs is a number of milliseconds, 0 for none')
  return ms === 0 ? Number.POSITIVE_INFINITY : ms
}

/** Parses a retry time. @throws TypeError for a negative or invalid number */
function readRetryTime(ms: number): number {
  if (ms >= 0) return ms
  throw new TypeError('retryForMs is a number of milliseconds, 0 for no retries')
}

const timedOut = Symbol('timed out')

/**
 * Returns true if the server rejected the token. Excludes a wrong password or code: retrying would count as another attempt. A
 * response to HEAD has no slug, only the status.
 */
function isRefusedToken({ error }: BasaltError): boolean {
  return error === 'invalid_token' || error === 'http_401'
}

/**
 * Waits for a value until the signal is aborted. The value itself is not cancelled, because other requests may wait for it.
 * @throws the abort reason of the signal
 */
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

/** @internal Formats query parameters with a leading `?`, or returns an empty string if there are none. */
export function formatQuery(query: RequestDetail['query'] = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value)
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

/** @internal Encodes one segment of a URL path. @throws TypeError for a segment that a URL cannot contain */
export function pathSegment(text: string): string {
  // The URL Standard removes dot segments from a path, percent-encoded or not. The request would reach another path.
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`not a name or key of an address: "${text}"`)
  return encodeURIComponent(text)
}
