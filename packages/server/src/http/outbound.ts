import { lookup as systemLookup } from 'node:dns'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { classifyAddress } from '../lib/address-class.ts'
import { codeOf } from '../lib/errors.ts'

/** An address a name stands for. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Finds the addresses of a name. @throws when there are none */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>

export interface OutboundRequest {
  readonly url: string
  /** POST unless given. */
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** For the whole exchange: finding the address, connecting, TLS, headers and body. */
  readonly timeoutMs: number
  /** Bytes of the reply that are read; the rest is not waited for. */
  readonly replyLimit: number
  readonly signal?: AbortSignal
}

/** How an exchange went. Texts disclose nothing about the network. */
export interface OutboundReply {
  /** Absent when none came. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The beginning of the body as text; bytes that are none are replaced. */
  readonly text: string
  /** Why the exchange failed before its end. */
  readonly error?: string
}

/** Requests to places that users of the administration name. */
export interface Outbound {
  /** Whether the URL names an address that is not allowed. Of names that is known only when they are connected to. */
  refuses(url: string): boolean
  /** Sends a request, a POST unless it says otherwise. Redirects are not followed. */
  post(request: OutboundRequest): Promise<OutboundReply>
}

export interface OutboundOptions {
  readonly allowsPrivate: () => boolean
  readonly resolve?: Resolve
}

const notAllowed = 'the address is not one that requests may be sent to'

/** The code of our own errors in a lookup. */
const refusedCode = 'ERR_BASALT_TARGET'

export function createOutbound({ allowsPrivate, resolve = resolveBySystem }: OutboundOptions): Outbound {
  const isAllowed = (address: string) => {
    const kind = classifyAddress(address)
    return kind === 'public' || (kind === 'private' && allowsPrivate())
  }

  // The socket connects to what this answers and to nothing else, so a name that changes meanwhile gains nothing.
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const allowed = found.filter(({ address }) => isAllowed(address))
        const [first] = allowed
        if (first === undefined) {
          callback(Object.assign(new Error(notAllowed), { code: refusedCode }), '')
        } else if (options.all === true) callback(null, [...allowed])
        else callback(null, first.address, first.family)
      },
      (error) => callback(Object.assign(new Error('not found'), { code: codeOf(error) ?? 'ENOTFOUND' }), ''),
    )
  }

  const refuses = (url: string) => {
    const host = hostOf(new URL(url))
    return isIP(host) !== 0 && !isAllowed(host)
  }

  return {
    refuses,
    async post(outgoing) {
      if (refuses(outgoing.url)) return { headers: {}, text: '', error: notAllowed }
      return await exchange(outgoing, lookup)
    },
  }
}

/** Without the brackets of an IPv6 address. URLs normalize IPv4 addresses of any spelling. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function exchange(outgoing: OutboundRequest, lookup: LookupFunction): Promise<OutboundReply> {
  const { url, method = 'POST', headers, body, timeoutMs, replyLimit, signal } = outgoing
  return new Promise((settle) => {
    let response: IncomingMessage | undefined
    const chunks: Buffer[] = []
    let size = 0
    let request: ClientRequest | undefined
    let isOver = false

    const finish = (error?: string) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      // What is still to come is of no interest; the connection is not used again.
      request?.destroy()
      settle({
        ...(response?.statusCode === undefined ? {} : { status: response.statusCode }),
        headers: response?.headers ?? {},
        text: decode(Buffer.concat(chunks).subarray(0, replyLimit)),
        ...(error === undefined ? {} : { error }),
      })
    }
    const timer = setTimeout(() => finish(`no complete answer within ${timeoutMs / 1000} s`), timeoutMs)
    const abort = () => finish('the server stopped')
    signal?.addEventListener('abort', abort)

    try {
      const send = new URL(url).protocol === 'https:' ? httpsRequest : httpRequest
      request = send(url, {
        method,
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
        lookup,
        agent: false,
      })
    } catch {
      finish('the request cannot be made')
      return
    }
    request.on('response', (incoming) => {
      response = incoming
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= replyLimit) finish()
      })
      incoming.on('end', () => finish())
      incoming.on('error', () => finish('the connection broke'))
      incoming.on('close', () => finish('the connection broke'))
    })
    request.on('upgrade', (incoming) => {
      response = incoming
      finish()
    })
    request.on('error', (error) => finish(describeFailure(error)))
    request.end(body)
  })
}

function describeFailure(error: unknown): string {
  const code = codeOf(error) ?? ''
  if (code === refusedCode) return notAllowed
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name was not found'
  if (/CERT|SIGNATURE|ERR_TLS|ERR_SSL|EPROTO/.test(code))
    return 'no secure connection: TLS or certificate refused'
  return 'the connection failed'
}

function decode(bytes: Buffer): string {
  // Text in Postgres cannot hold NUL.
  return new TextDecoder().decode(bytes).replaceAll('\0', '\ufffd')
}

function resolveBySystem(hostname: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((found, fail) => {
    systemLookup(hostname, { all: true }, (error, addresses) =>
      error === null ? found(addresses) : fail(error),
    )
  })
}
