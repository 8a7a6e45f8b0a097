import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { FetchStub } from '../messages.ts'
import type { CallBridge } from './bridges.ts'

/** Maximum number of bytes of the body of a response. */
const bodyLimit = 10 * 1024 * 1024
const defaultTimeoutSeconds = 30
const maxTimeoutSeconds = 300

/** Headers of the connection, which the process sets. */
const connectionHeaders = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Statuses of responses without a body (Fetch, null body status). */
const emptyStatuses: ReadonlySet<number> = new Set([204, 205, 304])

interface FetchInit extends Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'> {
  readonly timeout?: number | undefined
}

/**
 * Creates `ctx.fetch` of a call. The server resolves and checks the host, and the request connects only to the addresses that
 * it returns. Messages of errors have neither paths nor headers, which may contain secrets.
 *
 * @param signal signal of the call
 */
export function createFetch(addressesOf: CallBridge['addressesOf'], signal: AbortSignal) {
  return async (input: string | URL, init: FetchInit = {}): Promise<Response> => {
    const { timeout = defaultTimeoutSeconds, signal: own, ...options } = init
    if (!(timeout > 0 && timeout <= maxTimeoutSeconds))
      throw new TypeError(`ctx.fetch: timeout must be seconds above 0 and at most ${maxTimeoutSeconds}`)
    const request = createRequest(input, options)
    const url = new URL(request.url)
    const limit = AbortSignal.timeout(timeout * 1000)
    const ends = AbortSignal.any([signal, limit, ...(own ? [own] : [])])
    try {
      ends.throwIfAborted()
      const body = Buffer.from(await request.arrayBuffer())
      const { addresses, stub } = await untilAborted(addressesOf(url.hostname), ends)
      const lookup: LookupFunction = (_hostname, { all }, callback) => {
        const [first] = addresses
        if (all === true || first === undefined) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      }
      return await exchange(stub === undefined ? request : toStub(request, stub), body, lookup, ends)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (own?.aborted) throw own.reason
      if (limit.aborted) throw new Error(`ctx.fetch: ${url.host}: no complete response within ${timeout} s`)
      throw error
    }
  }
}

/** @throws TypeError that does not contain the arguments */
function createRequest(input: string | URL, options: RequestInit): Request {
  const url = URL.parse(String(input))
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '')
    throw new TypeError('ctx.fetch: expected an http or https URL without a password')
  let request: Request
  try {
    request = new Request(url, {
      ...options,
      ...(options.body instanceof ReadableStream && { duplex: 'half' }),
    })
  } catch {
    throw new TypeError(`ctx.fetch: ${url.host}: the method, a header or the body is invalid`)
  }
  for (const name of connectionHeaders) request.headers.delete(name)
  return request
}

/** Message that {@link exchange} sends, to its URL or to the server of a test. */
interface Outgoing extends Pick<Request, 'url' | 'method' | 'headers'> {
  /** Host in whose name the server of a test responds. */
  readonly stubbedHost?: string
}

/** Returns the request as the server of a test receives it: by HTTP, with its URL in a header. */
function toStub({ url, method, headers }: Request, { port, key }: FetchStub): Outgoing {
  const sent = new Headers(headers)
  sent.set('x-basalt-test-url', url)
  sent.set('x-basalt-test-key', key)
  return { url: `http://127.0.0.1:${port}/`, method, headers: sent, stubbedHost: new URL(url).host }
}

function exchange(
  { url, method, headers, stubbedHost }: Outgoing,
  body: Buffer,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<Response> {
  const { protocol, host: reached } = new URL(url)
  const host = stubbedHost ?? reached
  return new Promise((resolve, reject) => {
    const fail = (problem: string) => reject(new Error(`ctx.fetch: ${host}: ${problem}`))
    const send = protocol === 'https:' ? httpsRequest : httpRequest
    const outgoing = send(url, {
      ...{ method, lookup, signal, agent: false },
      headers: {
        'user-agent': 'Basalt',
        ...Object.fromEntries(headers),
        ...(body.length > 0 || !['GET', 'HEAD'].includes(method) ? { 'content-length': body.length } : {}),
        connection: 'close',
      },
    })
    outgoing.on('error', (error) => fail(describeFailure(error)))
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy()
      fail('the server has changed the protocol')
    })
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size <= bodyLimit) return
        fail(`the body of the response has more than ${bodyLimit / 1024 / 1024} MiB`)
        outgoing.destroy()
      })
      response.on('error', () => fail('the connection broke'))
      response.on('end', () => {
        const failure = response.headers['x-basalt-test-failure']
        if (stubbedHost !== undefined && failure !== undefined)
          return fail(decodeURIComponent(String(failure)))
        try {
          resolve(createResponse(response, Buffer.concat(chunks)))
        } catch {
          fail('the response is invalid')
        }
      })
    })
    outgoing.end(body)
  })
}

function createResponse({ statusCode = 0, statusMessage = '', rawHeaders }: IncomingMessage, body: Buffer) {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  return new Response(emptyStatuses.has(statusCode) ? null : Uint8Array.from(body), {
    status: statusCode,
    statusText: statusMessage,
    headers,
  })
}

function describeFailure({ code = '' }: NodeJS.ErrnoException): string {
  return /CERT|SIGNATURE|ERR_TLS|ERR_SSL|EPROTO/.test(code)
    ? 'no secure connection: TLS or certificate refused'
    : 'the connection failed'
}

/** Resolves like the promise, or rejects when the signal aborts. */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
